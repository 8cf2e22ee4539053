// One after the other, again and again.
#include "bench/turns.h"

#include "bench/measure.h"

bool take_turns(const struct bench_options *options, const char *what, const struct way ways[2],
                struct rates *rates, struct pawl_error *err)
{
    double per_s[2][TURNS], took;
    for (long i = 0; i < TURNS; i++) {
        bench_tell(options, what, i, TURNS);
        for (size_t way = 0; way < 2; way++) {
            if (!ways[way].go(ways[way].self, ways[way].jobs, &took, err))
                return false;
            per_s[way][i] = (double)ways[way].jobs / took;
        }
    }
    for (size_t way = 0; way < 2; way++)
        rates->per_s[way] = median(per_s[way], TURNS);
    rates->ratio = rates->per_s[1] / rates->per_s[0];
    return true;
}
