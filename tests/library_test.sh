#!/usr/bin/env bash
# The library as others meet it: installed into a directory, found by pkg-config, linked into
# programs in C and C++ that use every internal name of Pawl's for functions of their own.
source=${SOURCE:?the source tree} build=${BUILD:?the build directory}
sanitize=${SANITIZE:-none} compiler=${COMPILER:-gcc}
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/shell.sh"

left_out() { echo "left out: $1"; }
same() { [ "$1" = "$2" ] || { diff <(echo "$1") <(echo "$2"); false; }; }
says() { # says TEXT COMMAND...: the command succeeds and prints just this
    local wanted=$1 out
    out=$("${@:2}") && same "$wanted" "$out"
}

# The tools a user has: those of the build, and the other compiler when it is here. What a sanitizer
# has instrumented fits only programs made by the same compiler with the same options.
flags=()
compilers=()
for one in gcc clang; do
    if [ "$sanitize" != none ] && [ "$one" != "$compiler" ]; then
        continue
    elif command -v "$one" >/dev/null; then
        compilers+=("$one")
    else
        left_out "$one: it is not installed"
    fi
done
[ "$sanitize" = none ] || flags=("-fsanitize=$sanitize")
plus() { case $1 in gcc) echo g++ ;; clang) echo clang++ ;; esac; }

DESTDIR=$here/tree meson install -C "$build" --no-rebuild --quiet >/dev/null || exit 1
pawl=$(find "$here/tree" -path '*/bin/pawl')
pc=$(find "$here/tree" -name pawl.pc)
lib=$(dirname "${pc%/*}")
so=$(readlink -f "$lib/libpawl.so")
export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$here/tree LD_LIBRARY_PATH=$lib
# Words of pkg-config are many: they are split where they are used.
cflags=$(pkg-config --cflags pawl)
libs_so=$(pkg-config --libs pawl)
libs_a=$(pkg-config --static --libs pawl | sed 's/-lpawl/-l:libpawl.a/')

# ----- names

announced=$(grep -oP '^PAWL_API [^(]*?\K\w+(?=\()' "$source/include/pawl.h" | sort)
names() { nm --defined-only "$@" | awk 'NF == 3 { print $3 }' | sort; }
# Sanitizers add names of their own to what is visible; all of them are reserved for compilers.
visible() { names "$@" | grep -v '^__'; }
inside=$(visible -g "$build/libpawl_core.a" | grep -P '^[a-zA-Z]\w*$' |
    grep -vxF "$announced" | sort -u)

quietly "pawl.h announces every name" [ "$(wc -l <<<"$announced")" = \
    "$(grep -c '^PAWL_API' "$source/include/pawl.h")" ]
quietly "libpawl.so shows what pawl.h announces" same "$announced" "$(visible -D "$so")"
quietly "libpawl.a shows what pawl.h announces" same "$announced" \
    "$(visible -g "$lib/libpawl.a")"
quietly "there are names to hide" grep -qx 'job_load' <<<"$inside"

# ----- its page

in_page() { # every word of the list is in the page, as code
    local word missing=
    for word in $1; do
        grep -qF "\`$word\`" "$source/docs/library.md" || missing="$missing $word"
    done
    same "" "$missing"
}
quietly "the page says where every function may be called" in_page "$announced"
quietly "the page names every table of Pawl's" in_page \
    "$(grep -oP '^    \{ "\K\w+(?=", "table" \})' "$build/queries.gen.c")"

# ----- the shared library

dynamic=$(readelf -dW "$so")
segments=$(readelf -lW "$so")
has() { grep -qE -- "$1" <<<"$2"; }
has_not() { ! has "$@"; }
version=$(pkg-config --modversion pawl)
quietly "the program has the version of the library" says "pawl $version" \
    "$pawl" --version
quietly "the file has the whole version" same "libpawl.so.$version" "${so##*/}"
quietly "the soname has the major version" has "SONAME.*\[libpawl\.so\.${version%%.*}\]" "$dynamic"
quietly "the loader finds it by its soname" [ "$lib/libpawl.so.${version%%.*}" -ef "$so" ]
quietly "the stack is not executable" has 'GNU_STACK.* RW ' "$segments"
quietly "no segment is writable and executable" has_not ' RWE ' "$segments"
quietly "what is relocated becomes read-only" has 'GNU_RELRO' "$segments"
quietly "all of it, at once" has 'NOW' "$dynamic"
quietly "its code is not relocated" has_not 'TEXTREL' "$dynamic"
quietly "its code stays when it is closed" has 'NODELETE' "$dynamic"
quietly "it looks for libraries in no place of its own" has_not 'R(UN)?PATH' "$dynamic"
if [ "$sanitize" = none ]; then
    # The loader is a part of libc; only some machines name it.
    needed=$(grep -oP 'NEEDED.*\[lib\K\w+(?=\.so)' <<<"$dynamic" | sort | xargs)
    quietly "it needs what it says" same "c jansson sodium sqlite3" "$needed"
else
    left_out "needed libraries: the sanitizer adds its own"
fi

# ----- the header

header() { # header COMPILER LANGUAGE STANDARD
    # shellcheck disable=SC2086
    "$1" -x "$2" "-std=$3" -Wall -Wextra -Wpedantic -pedantic -Werror -fsyntax-only $cflags - \
        <<<$'#include <pawl.h>\n#include <pawl.h>\n'
}
for cc in "${compilers[@]}"; do
    for standard in c99 c11 c17 c2x gnu17; do
        quietly "pawl.h is $standard for $cc" header "$cc" c "$standard"
    done
    for standard in c++11 c++17 c++20; do
        quietly "pawl.h is $standard for $(plus "$cc")" header "$(plus "$cc")" c++ "$standard"
    done
done

# ----- programs

# Every internal name is a function of the program, and calling one ends it.
{
    echo '#include <stdlib.h>'
    while read -r name; do
        echo "void $name(void); void $name(void) { abort(); }"
    done <<<"$inside"
} >"$here/names.c"

make_host() { # make_host NAME COMPILER STANDARD SOURCE OPTION...
    # shellcheck disable=SC2086
    "$2" "-std=$3" -Wall -Wextra -pedantic -Werror "${flags[@]}" $cflags -c "$4" \
        -o "$here/$1.o" && "$2" "${flags[@]}" "$here/$1.o" "$here/names.o" -o "$here/$1" "${@:5}"
}
sound() { "$pawl" verify --store "sqlite:$here/$1.db" | grep -qx '0 violations'; }
host() { # host NAME WORDS COMPILER STANDARD SOURCE OPTION...: made, run, and its store is sound
    quietly "$1 is made" make_host "$1" "${@:3}"
    quietly "$1 works" says "$2" "$here/$1" "sqlite:$here/$1.db"
    quietly "$1 leaves a sound store" sound "$1"
}

c_says="SUCCEEDED, finished 1 times"
cpp_says="succeeded 8, prepared 8, finished 8"
for cc in "${compilers[@]}"; do
    "$cc" -w -fno-builtin "${flags[@]}" -c "$here/names.c" -o "$here/names.o" || exit 1
    for form in so a; do
        [ "$form" = so ] && libs=$libs_so || libs=$libs_a
        # shellcheck disable=SC2086
        host "$cc-$form" "$c_says" "$cc" c17 "$source/tests/library/host.c" $libs
        for standard in c++17 c++20; do
            # shellcheck disable=SC2086
            host "$cc-$standard-$form" "$cpp_says" "$(plus "$cc")" "$standard" \
                "$source/tests/library/host.cpp" $libs
        done
    done
done
quietly "a program with the archive needs no libpawl.so" has_not 'libpawl' \
    "$(readelf -dW "$here/${compilers[0]}-a")"

if [ "$sanitize" = none ]; then
    # shellcheck disable=SC2046
    host wholly-static "$c_says" gcc c17 "$source/tests/library/host.c" \
        -static $(pkg-config --static --libs pawl)
else
    left_out "a program that is static as a whole: sanitizers have no such form"
fi

# As its first lines tell.
embed() (
    cd "$here" || exit 1
    # shellcheck disable=SC2046
    "${compilers[0]}" "${flags[@]}" "$source/examples/embed/embed.c" \
        $(pkg-config --cflags --libs pawl jansson) -o embed && ./embed "to be or not"
)
quietly "the first example is made as it says" embed

# ----- loaded and closed

# shellcheck disable=SC2086
quietly "plugin is made" "${compilers[0]}" -std=gnu17 -Wall -Wextra -Werror "${flags[@]}" $cflags \
    "$source/tests/library/plugin.c" -o "$here/plugin"
quietly "loaded and closed, again and again" says "greeted 3 times, 0 files left open" \
    "$here/plugin" "$lib/libpawl.so.${version%%.*}" "sqlite:$here/plugin.db"
quietly "plugin leaves a sound store" sound plugin

conclude
