#!/usr/bin/env bash
# launch/install-debian.sh where it cannot serve: without apt-get, and with an apt that lacks a package. Both times it says what muffle needs,
# and where other systems' names for it are.
# shellcheck disable=SC2016  # doubles expand what is theirs
# shellcheck source=tests/e2e/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../launch" && pwd)/install-debian.sh

# A machine with these commands alone.
mkdir "$work/bin"
for tool in bash grep env; do ln -s "$(command -v "$tool")" "$work/bin/$tool"; done
# told WHY: it ends with 1, saying so, and points on.
told() {
  says 1 "$1" env PATH="$work/bin" bash "$install"
  check "it names what muffle needs" grep -q 'libtorch-dev .*libgfshare-dev .*procps' "$work/log"
  check "and where other names are" grep -q 'docs/how-to/other-systems\.md' "$work/log"
}
told 'no apt-get'
check "a page that is there" test -s "${install%/launch/*}/docs/how-to/other-systems.md"

double() { printf '#!/bin/bash\n%s\n' "$2" >"$work/bin/$1" && chmod +x "$work/bin/$1"; }
double apt-get '[[ " $* " != *" install "* ]] || : >"${0%/*}/installed"'
double apt-cache '[[ $2 != libtorch-dev ]]'
double dpkg-query 'exit 1'
double id 'echo 0'
told 'no package libtorch-dev'
check "nothing was installed" test ! -e "$work/bin/installed"
double apt-cache 'exit 0'
ends 0 env PATH="$work/bin" bash "$install"
check "where all packages are, they are installed" test -e "$work/bin/installed"
finish
