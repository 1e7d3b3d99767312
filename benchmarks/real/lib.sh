# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
# lib.sh: downloads a real program's Debian source package, builds it with and without the plugin by
# its own build system, tests and compares it. Each NAME.sh sources it, sets `package` and the
# functions below, and calls `real_main "$@"`.
#
#   build_in VARIANT             in the source tree: builds with $CC, $CXX, $CFLAGS, $CXXFLAGS, $LDFLAGS
#   test_in VARIANT              in the source tree: runs the program's own test suite, or a round trip where it has none
#   prepare                      in $inputs: makes the inputs (deterministic; skipped when there)
#   workload VARIANT             prints the command to measure, one line, shell-quoted; ${quick:-} is set under --quick
#   ok_status                    optional: the exit status of a successful workload (a SAT solver's 10)
#   extra_check                  optional: further comparisons of the two builds
#
# The user's package configuration stays unchanged: sources, lists and cache are private, below the
# work folder.
set -euo pipefail
real_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$real_dir/../.." && pwd)
SMALLOC_BUILD=${SMALLOC_BUILD:-$root/build}
SMALLOC_WORK=${SMALLOC_WORK:-$SMALLOC_BUILD/bench/real}
unset SMALLOC_CONF LD_PRELOAD GLIBC_TUNABLES MALLOC_CONF

say() { printf '%s\n' "$*" >&2; }
die() {
  say "smalloc: error: $*"
  exit 1
}

# The package sources of this system, with sources in place of binaries. Only Debian's own archives,
# since others may have none.
private_apt() {
  apt_dir=$SMALLOC_WORK/apt
  apt_configuration=$apt_dir/apt.conf
  mkdir -p "$apt_dir"/lists/partial "$apt_dir"/cache/archives/partial
  cat >"$apt_configuration" <<CONF
Dir::Etc::SourceList "$apt_dir/sources.list";
Dir::Etc::SourceParts "-";
Dir::State::Lists "$apt_dir/lists";
Dir::Cache "$apt_dir/cache";
APT::Sandbox::User "$(id -un)";
APT::Get::List-Cleanup "false";
CONF
  [ -s "$apt_dir/sources.list" ] && return
  local targets
  # shellcheck disable=SC2016
  targets=$(apt-get indextargets --format '$(ORIGIN)|$(SITE)|$(RELEASE)|$(COMPONENT)|$(SIGNED_BY)' 'Created-By: Packages' | sort -u)
  if grep -q '^Debian|' <<<"$targets"; then targets=$(grep '^Debian|' <<<"$targets"); fi
  [ -n "$targets" ] || die "no package sources (apt): this system names none"
  while IFS='|' read -r _ site release component key; do
    case $component in main) ;; *) continue ;; esac
    case $key in /* | *[0-9A-F]) key="[signed-by=$key] " ;; *) key="" ;; esac # not every apt has that option
    echo "deb-src $key$site $release $component"
  done <<<"$targets" | sort -u >"$apt_dir/sources.list"
}

fetch() {
  local where=$SMALLOC_WORK/$package
  [ -f "$where/.fetched" ] && return
  command -v dpkg-source >/dev/null || die "dpkg-source is missing ($package): install the package dpkg-dev"
  mkdir -p "$where"
  private_apt
  if [ -z "$(find "$apt_dir/lists" -name '*Sources*' -print -quit)" ]; then
    apt-get -c "$apt_configuration" -qq update >&2 || die "cannot read the package lists: no network?"
  fi
  rm -rf "$where/source"
  (cd "$where" && apt-get -c "$apt_configuration" -qq source --only-source "$package" >apt.log 2>&1) ||
    { cat "$where/apt.log" >&2; die "cannot fetch the source package $package"; }
  local tree
  tree=$(find "$where" -mindepth 1 -maxdepth 1 -type d | head -n 1)
  [ -n "$tree" ] || die "no source tree in $where"
  mv "$tree" "$where/source"
  touch "$where/.fetched"
}

# Sets the compilers for a variant: the wrappers if they are built, otherwise explicit flags.
use_variant() {
  CFLAGS="-O2 -g0" CXXFLAGS="-O2 -g0" LDFLAGS=""
  CC=${CLANG:-clang-22} CXX=${CLANGXX:-clang++-22}
  if [ "$1" = ours ]; then
    local lib=$SMALLOC_BUILD/lib
    [ -f "$lib/SmallocPlugin.so" ] || die "no plugin in $lib: build smalloc first"
    if [ -x "$SMALLOC_BUILD/bin/smalloc-cc" ] && [ -x "$SMALLOC_BUILD/bin/smalloc-c++" ]; then
      CC=$SMALLOC_BUILD/bin/smalloc-cc CXX=$SMALLOC_BUILD/bin/smalloc-c++
    else
      CC="$CC -fplugin=$lib/SmallocPlugin.so" CXX="$CXX -fplugin=$lib/SmallocPlugin.so"
      LDFLAGS="-L$lib -Wl,--no-as-needed -lsmalloc -Wl,-rpath,$lib"
    fi
  fi
  export CC CXX CFLAGS CXXFLAGS LDFLAGS
}

# logged FOLDER LOG FUNCTION ARGUMENT: sets logged_status. Do not call it as `logged ... ||`,
# because bash would then continue after a failing command inside the function.
logged() {
  set +e
  (
    set -e
    cd "$1"
    "$3" "$4"
  ) >"$2" 2>&1 </dev/null
  logged_status=$?
  set -e
}

# A build is repeated if the plugin or the library is newer.
build() {
  local variant=$1 where=$SMALLOC_WORK/$package
  local tree=$where/$variant stamp=$where/.built-$variant
  if [ -f "$stamp" ] && [ -d "$tree" ]; then
    [ "$variant" = plain ] && return
    [ "$stamp" -nt "$SMALLOC_BUILD/lib/SmallocPlugin.so" ] && return
  fi
  fetch
  use_variant "$variant"
  rm -rf "$tree"
  cp -a "$where/source" "$tree"
  # Patches made some files newer than the files generated from them; equal times keep make from
  # calling the autotools.
  find "$tree" -type f -exec touch -d @1000000000 {} +
  say "building $package ($variant)"
  logged "$tree" "$where/build-$variant.log" build_in "$variant"
  [ "$logged_status" = 0 ] ||
    { tail -n 30 "$where/build-$variant.log" >&2; die "cannot build $package ($variant): see $where/build-$variant.log"; }
  touch "$stamp"
}

run_tests() {
  local variant=$1 where=$SMALLOC_WORK/$package
  build "$variant"
  use_variant "$variant"
  logged "$where/$variant" "$where/test-$variant.log" test_in "$variant"
  [ "$logged_status" = 0 ] ||
    { tail -n 30 "$where/test-$variant.log" >&2; die "$package ($variant) fails its own tests: see $where/test-$variant.log"; }
  say "$package ($variant): its own tests pass"
}

make_inputs() {
  inputs=$SMALLOC_WORK/inputs
  mkdir -p "$inputs"
  (cd "$inputs" && prepare)
}

# Runs the workload of both builds and compares their output byte for byte.
check() {
  local variant status
  make_inputs
  for variant in plain ours; do
    build "$variant"
    status=0
    bash -c "$(workload "$variant")" >"$SMALLOC_WORK/$package/$variant.out" 2>"$SMALLOC_WORK/$package/$variant.err" </dev/null ||
      status=$?
    [ "$status" = "${ok_status:-0}" ] ||
      die "$package ($variant) fails: see $SMALLOC_WORK/$package/$variant.err"
  done
  cmp "$SMALLOC_WORK/$package/plain.out" "$SMALLOC_WORK/$package/ours.out" ||
    die "$package: the output differs with and without the plugin"
  if declare -F extra_check >/dev/null; then extra_check; fi
  say "$package: same output with and without the plugin ($(wc -c <"$SMALLOC_WORK/$package/plain.out") bytes)"
  rm -f "$SMALLOC_WORK/$package"/{plain,ours}.out
}

# Prints the high-water mark of a command's memory, in KiB. A shell is a small parent, so its own
# size does not count.
peak_kib() {
  python3 - "$@" <<'PY'
import os, subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
peak = 0
while True:
    try:
        for line in open(f"/proc/{child.pid}/status"):
            if line.startswith("VmHWM:"):
                peak = max(peak, int(line.split()[1]))
    except OSError:
        pass
    if os.waitpid(child.pid, os.WNOHANG)[0]:
        break
    time.sleep(0.0002)
print(peak)
PY
}

real_usage() {
  cat <<USAGE
usage: $(basename "$0") [fetch | build | test | check | all | command plain|ours] [--quick]
  fetch     get the Debian source package (private apt configuration, no root)
  build     build it twice by its own build system: plain, and with the smalloc plugin
  test      run its own tests in both builds
  check     run the workload in both builds, compare the outputs byte for byte
  all       everything above (default)
  command   print the command line of the workload (built when it is not yet)
Work folder: \$SMALLOC_WORK (now $SMALLOC_WORK); smalloc's build: \$SMALLOC_BUILD (now $SMALLOC_BUILD).
USAGE
}

real_main() {
  local verb="" variant="" word
  quick=""
  for word in "$@"; do
    case $word in
      --quick) quick=1 ;;
      -h | --help) real_usage; exit 0 ;;
      plain | ours) variant=$word ;;
      -*) real_usage >&2; exit 2 ;;
      *) if [ -n "$verb" ]; then real_usage >&2; exit 2; fi; verb=$word ;;
    esac
  done
  inputs=$SMALLOC_WORK/inputs
  case ${verb:-all} in
    fetch) fetch ;;
    build) for word in ${variant:-plain ours}; do build "$word"; done ;;
    test) for word in ${variant:-plain ours}; do run_tests "$word"; done ;;
    check) check ;;
    all)
      for word in plain ours; do run_tests "$word"; done
      check
      ;;
    command)
      [ -n "$variant" ] || { real_usage >&2; exit 2; }
      build "$variant"
      make_inputs
      workload "$variant"
      ;;
    *) real_usage >&2; exit 2 ;;
  esac
}
