#!/usr/bin/env python3
"""Links of the documentation lead somewhere, and what comments, scripts and messages cite is in the repository.

tests/docs_links.py: run in the repository's folder; prints what is wrong, a line each, and ends with 1 if there is anything.
tests/docs_links.py --pages FOLDER: links alone, of the pages in the folder, such as an installed one.
"""
import os
import re
import subprocess
import sys

# Plans and notes that people wrote this with are not part of the repository.
ELSEWHERE = re.compile(r'\b[Ss]pec(?:ification)? section \d|\bspec\.md\b|\bhouse\.md\b|\bstyle\.md\b|\bplatform-notes\b')
# Files, and folders with a slash; "foo" and "NAME" stand for one's own.
CITED = re.compile(r'(?<![\w/.-])(?:src|tests|include|docs|launch|configs)/(?!\S*(?:foo|NAME))[\w/.-]*(?:\.\w+|/)(?!\w)')


def anchor(heading):
    text = re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', heading.strip().lower())
    return re.sub(r'[^\w\- ]', '', text).replace(' ', '-')


def text_of(file):
    try:
        with open(file, encoding='utf-8') as f:
            return f.read()
    except (UnicodeDecodeError, IsADirectoryError):
        return ''


def repository_files():
    listed = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard'], capture_output=True, text=True)
    if listed.returncode == 0:
        return listed.stdout.splitlines()
    # A tarball.
    return [os.path.relpath(os.path.join(folder, name)) for folder, _, names in os.walk('.') for name in names if not folder.startswith(('./build', './out'))]


def wrong_links(texts):
    """Of pages by their names."""
    anchors = {f: {anchor(h) for h in re.findall(r'^#+ (.*)$', t, re.M)} for f, t in texts.items()}
    wrong = []
    for file, text in texts.items():
        for name, path, fragment in re.findall(r'(?:\[([\w-]+\.md))?\]\(([^)#\s]*)(?:#([^)\s]*))?\)', text):
            if path.startswith('http'):
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(file), path)) if path else file
            if not os.path.exists(target):
                wrong.append(f'{file}: {path} is not there')
            elif fragment and fragment not in anchors.get(target, {fragment}):
                wrong.append(f'{file}: {path}#{fragment}: no such heading')
            elif name and name != os.path.basename(path):
                wrong.append(f'{file}: the link to {path} is called {name}')
    return wrong


def main():
    if sys.argv[1:2] == ['--pages']:
        pages = [os.path.join(folder, name) for folder, _, names in os.walk(sys.argv[2]) for name in names if name.endswith('.md')]
        wrong = wrong_links({page: text_of(page) for page in pages}) if pages else [f'{sys.argv[2]} has no pages']
        print('\n'.join(wrong), end='\n' if wrong else '')
        return 1 if wrong else 0
    files = [f for f in repository_files() if os.path.isfile(f) and not f.startswith('tests/fuzz/corpus/')]
    texts = {f: text_of(f) for f in files}
    wrong = wrong_links({f: t for f, t in texts.items() if f.endswith('.md')})
    math = {anchor(h) for h in re.findall(r'^#+ (.*)$', texts.get('docs/math.md', ''), re.M)}
    for file, text in texts.items():
        # math.md's sections are cited by name: docs/math.md, "lattice"
        for section in re.findall(r'docs/math\.md,[\s/*#]*"([a-z ]+)"', text):
            if anchor(section) not in math:
                wrong.append(f'{file}: docs/math.md has no section "{section}"')
        for cited in sorted(set(CITED.findall(text))):
            if not os.path.exists(cited):
                wrong.append(f'{file}: {cited} is not there')
        if file != 'tests/docs_links.py':
            wrong += [f'{file}: cites {found}, which the repository does not have' for found in sorted(set(ELSEWHERE.findall(text)))]
    print('\n'.join(wrong), end='\n' if wrong else '')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
