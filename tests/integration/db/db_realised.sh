# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Predictions learn from runs. Three runs of each kind show the share of the predicted saving that
# was realised. The next analysis uses that share, also for another build at the same path and for
# another input.
. "$(dirname "$0")/../support/lib.sh"
. "$SMALLOC_SOURCE/tests/integration/fixtures/cli.bash"
. "$SMALLOC_SOURCE/tests/integration/support/build.bash"
write_recorded_app
first=$id
expect_status 0 "$SMALLOC" record -q --source instrumented -o one.trace -- ./app one
expect_status 0 "$SMALLOC" record -q --source instrumented -o two.trace -- ./app two
expect_status 0 "$SMALLOC" analyze one.trace --machine zen4 --seconds 0.001 -o app.directives --json
json_is out 'd["expected"]["saved_seconds"] == d["expected"]["saved_seconds_by_calibration"] > 0 and d["expected"]["realised_share"] == 1'
json_is out 'd["expected"]["learned_from"] == {"inputs": 0, "base_runs": 0, "superpage_runs": 0}'
expect_status 0 "$SMALLOC" analyze one.trace --machine zen4 --seconds 0.001 --no-db
expect_match out '^expected of a run: [0-9.e-]+ s saved$'

# Reports as libsmalloc writes them for a program that hides half of its walks. They are of the next
# build, which has the same source.
build_app -O1 -g
second=$(build_id)
[ "$first" != "$second" ] || fail "the test needs two builds"
site=$(sed -n 's/^\([0-9a-f]\{16\}\) .*page=2m.*/\1/p' app.directives | head -n 1)
input=$(sed -n '1s/.* input=\([0-9a-f]*\).*/\1/p' app.directives)
[ -n "$site" ] && [ -n "$input" ] || fail "$(cat app.directives)"
reports() { # KIND SECONDS VERDICT: three runs
  python3 - "$@" "$second" "$PWD/app" "$input" "$site" "$XDG_STATE_HOME/smalloc/runs" <<'PY'
import json, os, socket, sys, time
kind, seconds, verdict, program, path, input_, site, folder = sys.argv[1:]
os.makedirs(folder, mode=0o700, exist_ok=True)
with open(f"{folder}/{program}.jsonl", "a", opener=lambda p, f: os.open(p, f, 0o600)) as out:
    for n in range(3):
        run = {"schema": "smalloc.run/1", "program": program, "path": path, "host": socket.gethostname(), "pid": 100 + n,
               "started_ns": time.time_ns(), "kind": kind, "input": input_, "user_seconds": float(seconds), "system_seconds": 1.0}
        if kind == "superpages":
            run |= {"policy": "same-input", "directives": [{"site": site, "context": None, "taken": True, "superpages_predicted": 32,
                    "superpages_peak": 32, "live_bytes_peak": 64 << 20, "verdict": verdict}]}
        print(json.dumps(run), file=out)
PY
}
predicted=$(python3 -c 'import json,sys; print(json.load(sys.stdin)["expected"]["saved_seconds_by_calibration"])' \
  < <("$SMALLOC" analyze one.trace --machine zen4 --seconds 0.001 --no-db --json -q))
half=$(python3 -c "print(10 - $predicted / 2)")
reports base 10 ""
reports superpages "$half" short # these runs did not get the chosen superpages
expect_status 0 "$SMALLOC" analyze two.trace --machine zen4 --seconds 0.001 --json
json_is out 'd["expected"]["realised_share"] == 1'
reports superpages "$half" held
expect_status 0 "$SMALLOC" db show ./app --json
json_is out 'abs(d["realised"]["share"] - 0.5) < 1e-6 and d["realised"]["superpage_runs"] == 3'
expect_status 0 "$SMALLOC" db show ./app
expect_match out '^superpages save [0-9.e-]+ s a run instead of the predicted [0-9.e-]+ s: the next analysis multiplies its prediction by 0\.50$'
# Another input, recorded with another build.
expect_status 0 "$SMALLOC" analyze two.trace --machine zen4 --seconds 0.001 -o two.directives --json
json_is out 'abs(d["expected"]["realised_share"] - 0.5) < 1e-6 and d["expected"]["learned_from"] == {"inputs": 1, "base_runs": 3, "superpage_runs": 3}'
json_is out 'abs(d["expected"]["saved_seconds"] * 2 / d["expected"]["saved_seconds_by_calibration"] - 1) < 1e-6'
expect_status 0 "$SMALLOC" analyze two.trace --machine zen4 --seconds 0.001
expect_match out '^expected of a run: [0-9.e-]+ s saved \([0-9.e-]+ s by calibration; 3 runs have saved 0\.50 of what was predicted\)$'
# The share does not apply to another machine profile, nor with a history that is not used.
expect_status 0 "$SMALLOC" analyze two.trace --machine zen3 --seconds 0.001 --json
json_is out 'd["expected"]["realised_share"] == 1'
expect_status 0 "$SMALLOC" analyze two.trace --machine zen4 --seconds 0.001 --no-db --json
json_is out 'd["expected"]["realised_share"] == 1'
