# The checks of `./dev check`; sourced by ./dev. Each prints what is wrong and fails.

readonly CHECKS="format tidy layers size style links scripts"

# Files of the repository, also those not yet committed, that still exist.
repository_files() {
    git ls-files --cached --others --exclude-standard -z -- "$@" | sort -zu |
        while IFS= read -r -d '' file; do
            if [[ -f $file ]]; then
                printf '%s\0' "$file"
            fi
        done
}

check_format() {
    repository_files '*.cpp' '*.h' | xargs -0 -r clang-format-19 --dry-run -Werror 2>&1 |
        sed -n 's/: error: code should be clang-formatted.*/: is not as clang-format writes it/p'
}

# A build of its own, so that only what has changed is read again. Unit tests are left out: their
# macros cost much time and few findings.
check_tidy() {
    configure check || return 1
    if [[ .clang-tidy -nt build/check/tidy.stamp ]]; then
        (cd build/check && ninja -t clean >/dev/null)
        touch build/check/tidy.stamp
    fi
    (cd build/check && ninja -k 0)
}

check_layers() { "$PYTHON" -B tools/check/layers.py; }
check_size() { "$PYTHON" -B tools/check/size.py; }
check_style() { "$PYTHON" -B tools/check/style.py; }
check_links() { "$PYTHON" -B tools/check/links.py; }
check_scripts() { "$PYTHON" -B tools/check/scripts.py; }

hint_for() {
    case $1 in
        format) echo "clang-format-19 -i FILE writes the expected form" ;;
        tidy) echo "repair the code; a finding that is wrong here gets // NOLINT(check): reason" ;;
        layers) echo "move the code to the layer that owns it; the order is in src/README.md" ;;
        size) echo "move what is not done for each jar to src/keeper; the warden parses nothing" ;;
        style) echo "split it, or argue for a line in tools/check/style_exceptions.toml" ;;
        links) echo "correct the path, or write it without backticks if it is no path" ;;
        scripts) echo "correct the syntax" ;;
    esac
}

run_checks() {
    local name start log failed=""
    for name in "$@"; do
        if [[ " $CHECKS " != *" $name "* ]]; then
            fail "there is no check \"$name\"; there are: $CHECKS"
        fi
    done
    mkdir -p build/check
    for name in ${*:-$CHECKS}; do
        log=build/check/$name.log
        start=$EPOCHREALTIME
        printf '%-8s ' "$name"
        if "check_$name" >"$log" 2>&1; then
            report_check ok
        else
            failed=yes
            report_check failed
            show_findings "$log"
            say "  -> $(hint_for "$name")"
        fi
    done
    [[ ! $failed ]]
}

# Without the progress of the tools.
show_findings() {
    grep -vE '^$|^\[|^ninja:|^FAILED:|^Configuring|__run_co_compile|generated\.$' "$1" |
        sed 's/^/  /' || true
}

# Uses start of run_checks.
report_check() {
    local microseconds=$((${EPOCHREALTIME/./} - ${start/./}))
    printf '%-6s %4d.%d s\n' "$1" $((microseconds / 1000000)) \
        $((microseconds / 100000 % 10))
}
