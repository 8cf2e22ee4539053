/* Every model includes this: the rules it is made of can be broken, one at a time, to see that
 * the check would notice. Which one says the environment variable BROKEN (0: none) when the
 * compiled model is started, so that one compilation serves all of them. Nothing but `broken`
 * is taken from outside, and it never changes. tools/check-models reads the numbers:
 *
 *     1 to 50      a rule of safety: without it some property must be seen to fail
 *    51 to 100     a rule that is not needed: without it nothing fails
 *   101 to 200     a situation that must be met, or the model's silence means little
 *   201 to 255     a rule of liveness: without it a job must be seen to stay for ever */
byte broken = 0;

#define KEPT(rule) (broken != rule)
#define SEEN(situation, condition) assert(broken != situation || !(condition))

inline choose_broken() {
  c_code { now.broken = getenv("BROKEN") ? (unsigned char)atoi(getenv("BROKEN")) : 0; }
}
