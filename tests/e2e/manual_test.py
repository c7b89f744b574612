#!/usr/bin/env python3
"""Man pages and completions hold what --help and config-keys say, no more and no less. MUFFLE names the binary, muffle or muffle-site.

Scripts for zsh and fish are tried where these shells are there.
"""
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile

MUFFLE = os.environ["MUFFLE"]
PROGRAM = os.path.basename(MUFFLE)
SITE = PROGRAM == "muffle-site"
FUNCTION = "_party_muffle" if SITE else "_muffle"
SETS = ("coordinator", "propose") if SITE else ("run",)  # a verb with --set
failures = 0


def check(what, good, more=""):
    global failures
    print(f"ok: {what}" if good else f"FAILED: {what} {more}")
    failures += not good


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)


@functools.cache
def muffle(*words):
    done = run(MUFFLE, *words)
    if done.returncode != 0:
        sys.exit(f"muffle {' '.join(words)}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def help_of(verb):
    """(options, verbs) of a verb's --help."""
    text = muffle(*verb, "--help")
    options = set(re.findall(r"(?:^  |,)(--?[\w-]+)", text, re.M))
    verbs = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
    return options, re.findall(r"^  (\S+)", verbs[1], re.M) if verbs else []


def plain(roff):
    return roff.replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")


def all_verbs(verb=()):
    yield verb
    for inner in help_of(verb)[1]:
        yield from all_verbs((*verb, inner))


def in_bash(script, words, cur):
    """What bash offers behind `words` when `cur` was typed; its own cuts at "=" are made here."""
    pieces = [p for w in [*words, cur] for p in (re.split("(=)", w) if "=" in w else [w])]
    quoted = " ".join("'" + p + "'" for p in pieces)
    done = run("bash", "-c", f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(pieces) - 1}; {FUNCTION}; "
               'printf "%s\\n" "${COMPREPLY[@]}"')
    check(f"bash says nothing else for {words} {cur}", done.stderr == "", done.stderr)
    return set(done.stdout.split())


def main():
    verbs = list(all_verbs())
    check("there are verbs, and verbs of verbs", SETS in verbs and ("ledger", "show") in verbs)
    with tempfile.TemporaryDirectory() as folder:
        muffle("man", "--out", folder)
        pages = {f"man{s}/{name}" for s in "18" if os.path.isdir(f"{folder}/man{s}") for name in os.listdir(f"{folder}/man{s}")}
        page_of = {v: "man1/" + "-".join(("muffle", *v)) + ".1" for v in verbs}
        if SITE:
            page_of[()] = "man8/muffle-site.8"
        check("a page for each verb", pages == set(page_of.values()), str(pages))
        scripts = {}
        for shell in ("bash", "zsh", "fish"):
            scripts[shell] = f"{folder}/{shell}"
            with open(scripts[shell], "w", encoding="utf-8") as file:
                file.write(muffle("completion", shell))
        for verb in verbs:
            options, inner = help_of(verb)
            name = "-".join(("muffle", *verb))
            with open(f"{folder}/{page_of[verb]}", encoding="utf-8") as file:
                page = file.read()
            listed = page.split(".SH OPTIONS")[1].split(".SH")[0]
            in_page = set(re.findall(r"\\fB(--?[\w-]+)\\fR", plain(listed)))
            check(f"{name}(1) has the options of --help", in_page == options, f"{in_page ^ options}")
            offered = in_bash(scripts["bash"], [PROGRAM, *verb], "-")
            check(f"bash offers them after {' '.join(('muffle', *verb))}", offered == options, f"{offered ^ options}")
            if inner:
                check("and its verbs", in_bash(scripts["bash"], [PROGRAM, *verb], "") == set(inner))
            text = " ".join(muffle(*verb, "--help").split())
            told = [plain(t) for t in re.findall(r"^\.TP\n.*\n(.*)", listed, re.M)]
            lost = [t for t in told if re.sub(r" [\[(][^])]*[])]$| \(required\)", "", t).split(" (")[0].split(" [")[0] not in text]
            check(f"{name}(1) explains as --help does", told and not lost, str(lost[:2]))
            warned = run("groff", "-man", "-Tutf8", "-ww", "-z", f"{folder}/{page_of[verb]}").stderr if shutil.which("groff") else ""
            check(f"{name}(1) is sound", warned == "", warned)
        keys = set(re.findall(r"^([a-z]+\.[\w.]+) ", muffle("config-keys"), re.M))
        with open(folder + "/man5/muffle-config.5", encoding="utf-8") as file:
            described = set(re.findall(r"^\\fB([\w.]+)\\fR = ", plain(file.read()), re.M))
        check("muffle-config(5) has every key", described == keys and len(keys) > (40 if SITE else 90), f"{described ^ keys}")
        offered = in_bash(scripts["bash"], [PROGRAM, *SETS, "--set"], "")
        check("bash offers every key", offered == {k + "=" for k in keys}, f"{offered ^ keys}")
        kinds = re.findall(r'^\[map\.NAME\] with kind = "([\w-]+)"', muffle("config-keys"), re.M)
        check("bash offers every kind of map", in_bash(scripts["bash"], [PROGRAM, *SETS, "--set"], "map.coarse.kind=") == set(kinds))
        check("bash completes a map's own keys", "map.coarse.weight=" in in_bash(scripts["bash"], [PROGRAM, *SETS, "--set"], "map.coarse.we"))
        check("bash offers an option's values", in_bash(scripts["bash"], [PROGRAM, "verify", "--format"], "") == {"text", "json"})
        check("bash offers the values of --option=", in_bash(scripts["bash"], [PROGRAM, "verify"], "--format=j") == {"json"})
        check("the bash script is sound", run("bash", "-n", scripts["bash"]).stderr == "")
        if shutil.which("zsh"):
            done = run("zsh", "-f", "-c", f"autoload -Uz compinit; compinit -D; source {scripts['zsh']}; print $_comps[{PROGRAM}] $+functions[{FUNCTION}_ledger_show]")
            check("zsh takes the script", done.stdout.split() == [FUNCTION, "1"] and done.stderr == "", done.stdout + done.stderr)
        if shutil.which("fish"):
            def in_fish(line):
                done = run("fish", "--no-config", "-c", f"source {scripts['fish']}; complete -C '{line}'", env={**os.environ, "HOME": folder})
                check(f"fish says nothing else for {line}", done.stderr == "", done.stderr)
                return {offer.split("\t")[0] for offer in done.stdout.splitlines()}
            check("fish offers the verbs", in_fish(PROGRAM + " ") == set(help_of(())[1]))
            check("fish offers a verb's options", in_fish(PROGRAM + " ledger show --") >= {o for o in help_of(("ledger", "show"))[0] if o.startswith("--")})
            check("fish offers an option's values", in_fish(PROGRAM + " verify --format ") == {"text", "json"})
            check("fish offers keys", "data.records=" in in_fish(" ".join((PROGRAM, *SETS, "--set data.rec"))))
            check("fish offers kinds", in_fish(" ".join((PROGRAM, *SETS, "--set map.a.kind="))) == {"map.a.kind=" + k for k in kinds})
    done = run(MUFFLE, "man", "muffle-accuont")
    check("a page that is not there is refused", done.returncode == 2 and "muffle-account" in done.stderr)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
