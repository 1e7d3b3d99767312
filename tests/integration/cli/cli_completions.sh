# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Completion scripts: bash completes verbs, parts, options and commands; zsh and fish accept theirs where they are installed.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
expect_status 0 "$SMALLOC" --completion bash
mv out smalloc.bash
bash -n smalloc.bash || fail "bash does not parse its script"
# completed WORD...: what bash offers for the last word, sorted, on one line.
completed() {
  bash --norc -c '
    . ./smalloc.bash
    COMP_WORDS=(smalloc "$@") COMP_CWORD=$#
    complete -p smalloc | grep -q -- "-F _smalloc" || exit 1
    _smalloc
    printf "%s\n" "${COMPREPLY[@]}" | sort | paste -sd " "' bash "$@"
}
is() { [ "$1" = "$2" ] || fail "completed to '$1' instead of '$2'"; }
is "$(completed re)" "record report"
is "$(completed tr)" "trace try"
is "$(completed --ver)" "--version"
is "$(completed try --r)" "--rounds"
is "$(completed try --quick --sh)" "--show-output"
is "$(completed trace co)" "compare"
is "$(completed numa t)" "top topology"
is "$(completed run ./a)" "" # files: the shell's own completion
is "$(completed run -- "$(basename "$BASH")" --no)" "" # behind a command, too
completed run -- ba | grep -qw bash || fail "no command behind --"
# A part has its own options, not its verb's.
is "$(completed numa simulate --hor)" "--horizon"
is "$(completed numa --hor)" ""
# Every option that a verb's help shows is completed.
verbs=$("$SMALLOC" --help | sed -n '/^Verbs:/,/^$/p' | sed -nE 's/^  ([a-z]+) +.*/\1/p')
[ "$(wc -w <<<"$verbs")" -gt 15 ] || fail "verbs of the help: $verbs"
for verb in $verbs; do
  is "$(completed "$verb" --hel)" --help
  for option in $("$SMALLOC" "$verb" --help | sed -nE 's/^  (-[a-z], )?(--[a-z-]+).*/\2/p'); do
    completed "$verb" "$option" | grep -qw -- "$option" || fail "$verb: no $option"
  done
done
# In zsh and fish, from where a package puts the scripts; what a user sees after a tab. fish loads them
# for commands that exist only.
mkdir -p zsh fish/fish/vendor_completions.d
"$SMALLOC" --completion zsh >zsh/_smalloc
"$SMALLOC" --completion fish >fish/fish/vendor_completions.d/smalloc.fish
if command -v fish >/dev/null; then
  in_fish() { PATH=$(dirname "$SMALLOC"):$PATH HOME=$PWD XDG_DATA_DIRS=$PWD/fish fish -c "complete -C '$1'" | cut -f1 | sort | paste -sd " "; }
  is "$(in_fish 'smalloc tr')" "trace try"
  is "$(in_fish 'smalloc try --sh')" "--show-output"
  is "$(in_fish 'smalloc numa simulate --hor')" "--horizon"
fi
if command -v zsh >/dev/null; then
  # Completion needs a line editor: zsh runs a second zsh on a pseudo-terminal.
  cat >tab.zsh <<'Z'
zmodload zsh/zpty
zpty inner 'TERM=dumb zsh -f'
zpty -w inner "PS1= ; fpath=($PWD/zsh \$fpath); autoload -U compinit; compinit -D -u; print rea''dy"
zpty -r inner seen '*ready*'
zpty -w -n inner "$1"$'\t\t'
zpty -r inner seen "*$2*" # waits for it
Z
  timeout 60 zsh -f tab.zsh 'smalloc tr' 'trace *-- *try *-- ' || fail "zsh does not complete to trace and try"
  timeout 60 zsh -f tab.zsh 'smalloc try --sh' 'smalloc try --show-output' || fail "zsh does not complete --show-output"
fi
for shell in zsh fish; do
  expect_status 0 "$SMALLOC" --completion "$shell"
  expect_match out 'show-output'
  ! command -v "$shell" >/dev/null || "$shell" -n out || fail "$shell does not parse its script"
done
expect_error 2 '' "$SMALLOC" --completion tcsh
