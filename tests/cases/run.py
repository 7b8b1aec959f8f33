#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Asks the kvmig tool about the situations in this folder and compares its answers with what each case expects.

    run.py --kvmig TOOL [--only GLOB] [--show] [FOLDER...]

A case is a folder with case.json and its input files; FOLDER is a case or holds cases (default: where this script is). Each
variant of a case is one run of the tool. --only picks variants by "CASE/VARIANT" or "CASE"; --show prints what came.

The expectations are read strictly: a key, code, object kind or condition that is not known, a file that is missing or that no
variant uses, is an error (exit status 2), for a typing error in a list of codes that must be absent would go unnoticed otherwise.
Exit status 0: all variants passed; 1: some did not; 2: a case cannot be used.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FINDINGS = os.path.join(HERE, '..', '..', 'docs', 'findings.md')
SECONDS = 60  # sanitizers and valgrind take their time
VERDICTS = {'MIGRATABLE', 'MIGRATABLE_WITH_RISK', 'BLOCKED', 'QUEUED', 'SOURCE'}
KINDS = set('node pod vm vmi domain migration pvc pv storageclass storageprofile resourcequota endpointslice secret disk volume '
            'device interface lsp port_group ip mac'.split())
WORDS = set('cluster request source target network'.split())
PROVENANCE = {'real', 'reported', 'derived'}
OPERATIONS = set('plan start monitor explain verify rollback cancel'.split())
TEXTS, YES_NO, LIST, DICT = 'list of texts', bool, list, dict
CASE_KEYS = {'id': str, 'op': str, 'area': TEXTS, 'source': TEXTS, 'provenance': str, 'guard': YES_NO, 'variants': LIST}
VARIANT_KEYS = {'name': str, 'verb': str, 'args': DICT, 'request': (str, type(None)), 'files': TEXTS, 'expect': DICT}
EXPECT_KEYS = {'verdict', 'findings', 'absent_findings', 'actions', 'absent_actions', 'absent_codes', 'target', 'candidates'}
ENTRY_KEYS = {'code', 'object', 'detail_contains', 'detail_excludes'}


class Unusable(Exception):
    """A case that cannot be run as it is written."""


def many(value):
    return value if isinstance(value, list) else [value]


# ---- reading cases, strictly ----


def need(condition, where, what):
    if not condition:
        raise Unusable('%s: %s' % (where, what))


def is_texts(value):
    return isinstance(value, list) and all(isinstance(text, str) and text for text in value)


def check_members(members, wanted, optional, where):
    need(isinstance(members, dict), where, 'not an object')
    for key, kind in wanted.items():
        need(key in members, where, 'lacks "%s"' % key)
        right = is_texts(members[key]) if kind is TEXTS else isinstance(members[key], kind)
        need(right, where, '"%s" is of the wrong kind' % key)
    unknown = set(members) - set(wanted) - optional
    need(not unknown, where, 'unknown: %s' % ', '.join(sorted(unknown)))


def known_codes():
    with open(FINDINGS, encoding='utf-8') as page:
        return VERDICTS | set(re.findall(r'^\| `([A-Z][A-Z0-9_]+)` \|', page.read(), re.MULTILINE))


def check_codes(codes, known, where):
    for code in codes:
        need(isinstance(code, str) and code in known, where, 'no such code: %s' % (code,))


def check_condition(condition, where):
    if isinstance(condition, dict):
        need(len(condition) == 1 and isinstance(next(iter(condition.values())), list), where, 'bad condition %s' % condition)
        (kind, values), = condition.items()
        need(kind == 'any' and values or kind == 'between' and len(values) == 2, where, 'bad condition %s' % condition)
        for value in values:
            need(not isinstance(value, dict), where, 'nested condition %s' % condition)
    else:
        need(isinstance(condition, (str, int, float)) and not isinstance(condition, bool), where, 'bad condition %s' % condition)


def check_entry(entry, known, where):
    check_members(entry, {'code': (str, list)}, ENTRY_KEYS, where)
    check_codes(many(entry['code']), known, where)
    if 'object' in entry:
        kind, slash, name = entry['object'].partition('/')
        need(kind in KINDS and name if slash else kind in WORDS, where, 'object %s is of no known kind' % entry['object'])
    for condition in entry.get('detail_contains', []) + entry.get('detail_excludes', []):
        check_condition(condition, where)


def check_expectation(expect, known, where):
    check_members(expect, {'verdict': (str, list)}, EXPECT_KEYS, where)
    codes = many(expect['verdict']) + expect.get('absent_codes', [])
    for wanted in expect.get('candidates', {}).values():
        codes += [code for code in many(wanted) if code is not None]
    check_codes(codes, known, where)
    for key in ('findings', 'absent_findings', 'actions', 'absent_actions'):
        for entry in expect.get(key, []):
            check_entry(entry, known, where)
    must = {entry['code'] for entry in expect.get('findings', []) if isinstance(entry['code'], str)}
    need(not must & set(expect.get('absent_codes', [])), where, 'a code is both expected and to be absent')


def check_variant(variant, folder, known, where):
    check_members(variant, VARIANT_KEYS, {'op'}, where)
    need(re.fullmatch(r'[a-z0-9][a-z0-9.-]*', variant['name']), where, 'bad name')
    need(variant['verb'] in ('plan', 'diagnose'), where, 'unknown verb')
    need(variant.get('op', 'plan') in OPERATIONS, where, 'unknown op')
    check_members(variant['args'], {}, {'vm', 'target'}, where + ', args')
    need(variant['files'], where, 'no files')
    for name in variant['files'] + ([variant['request']] if variant['request'] else []):
        need(os.path.isfile(os.path.join(folder, name)), where, 'there is no file %s' % name)
    check_expectation(variant['expect'], known, where)


def load_case(folder, known):
    where = os.path.basename(folder)
    try:
        with open(os.path.join(folder, 'case.json'), encoding='utf-8') as file:
            case = json.load(file)
    except ValueError as error:
        raise Unusable('%s/case.json: %s' % (where, error)) from None
    check_members(case, CASE_KEYS, set(), where)
    need(case['id'] == where, where, 'id is %s' % case['id'])
    need(case['op'] in OPERATIONS and case['provenance'] in PROVENANCE, where, 'unknown op or provenance')
    need(case['area'] and case['source'] and case['variants'], where, 'area, source or variants are empty')
    used, names = {'case.json', 'README.md'}, set()
    for variant in case['variants']:
        check_variant(variant, folder, known, '%s/%s' % (where, variant.get('name') if isinstance(variant, dict) else '?'))
        need(variant['name'] not in names, where, 'two variants %s' % variant['name'])
        names.add(variant['name'])
        used |= {name.split('/')[0] for name in variant['files']} | {variant['request']}
    unused = set(os.listdir(folder)) - used
    need(not unused, where, 'no variant uses %s' % ', '.join(sorted(unused)))
    return case


def find_cases(folders):
    found = set()
    for top in folders:
        for folder, below, names in os.walk(os.path.abspath(top)):
            if 'case.json' in names:
                found.add(folder)
                below.clear()
    return sorted(found)


# ---- comparing ----


def scalars(value, with_keys):
    if isinstance(value, dict):
        for key, member in value.items():
            if with_keys:
                yield key
            yield from scalars(member, with_keys)
    elif isinstance(value, list):
        for member in value:
            yield from scalars(member, with_keys)
    else:
        yield value


def numbers_in(detail):
    for value in scalars(detail, False):
        if isinstance(value, str):
            for word in re.findall(r'(?<![\w.-])-?\d+(?:\.\d+)?(?!\w|\.\d)', value):
                yield float(word)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield float(value)


def holds(condition, detail):
    if isinstance(condition, dict):
        if 'any' in condition:
            return any(holds(one, detail) for one in condition['any'])
        low, high = condition['between']
        return any(low <= number <= high for number in numbers_in(detail))
    if isinstance(condition, str):
        return any(condition in text for text in scalars(detail, True) if isinstance(text, str))
    return any(abs(number - condition) <= 1e-9 * max(1.0, abs(condition)) for number in numbers_in(detail))


def spellings(name):
    """The forms in which an object may be written: vm, vmi and domain are one kind, and the namespace may be left out."""
    parts = name.split('/')
    if parts[0] in ('vmi', 'domain'):
        parts[0] = 'vm'
    return {'/'.join(parts), '/'.join(parts[:1] + parts[2:])} if len(parts) == 3 else {'/'.join(parts)}


def matches(entry, item):
    if item.get('code') not in many(entry['code']):
        return False
    if 'object' in entry:
        patterns = {'vm/' + entry['object'].split('/', 1)[1]} if entry['object'].startswith(('vmi/', 'domain/')) else {entry['object']}
        if not any(fnmatch.fnmatchcase(name, pattern) for name in spellings(item.get('object') or '') for pattern in patterns):
            return False
    detail = item.get('detail')
    return (all(holds(condition, detail) for condition in entry.get('detail_contains', [])) and
            not any(holds(condition, detail) for condition in entry.get('detail_excludes', [])))


def brief(items):
    return ', '.join('%s %s on %s %s' % (item.get('severity'), item.get('code'), item.get('object'), json.dumps(item.get('detail')))
                     for item in items) or 'nothing'


def contradictions(verdict, near, chosen):
    """The severities of what is about the VM or the chosen node must fit the verdict."""
    about = [item for item in near if not item['object'].startswith('node/') or item['object'] == 'node/%s' % chosen]
    worst = {item['severity'] for item in about}
    if verdict == 'MIGRATABLE' and worst & {'warn', 'blocker'} or verdict == 'MIGRATABLE_WITH_RISK' and 'blocker' in worst:
        yield '%s contradicts %s' % (verdict, brief([item for item in about if item['severity'] in ('warn', 'blocker')]))
    if verdict == 'BLOCKED' and not any(item['severity'] == 'blocker' for item in near):
        yield 'BLOCKED without a blocker'


def complaints(variant, answer):
    expect = variant['expect']
    findings, actions = answer.get('findings', []), answer.get('actions', [])
    candidates = {one['node']: one for one in answer.get('candidates', [])}
    everywhere = findings + [item for one in candidates.values() for item in one.get('findings', [])]
    chosen = variant['args'].get('target') or answer.get('target')
    near = findings + candidates.get(chosen, {}).get('findings', [])
    if answer.get('verdict') not in many(expect['verdict']):
        yield 'verdict %s, not %s; came: %s' % (answer.get('verdict'), ' or '.join(many(expect['verdict'])), brief(findings))
    for key, items in (('findings', everywhere), ('actions', actions)):
        for entry in expect.get(key, []):
            if not any(matches(entry, item) for item in items):
                yield 'lacks %s; came: %s' % (json.dumps(entry), brief(items))
        for entry in expect.get('absent_' + key, []):
            for item in items:
                if matches(entry, item):
                    yield 'must not have %s' % brief([item])
    for code in {answer.get('verdict')} | {item.get('code') for item in near + actions}:
        if code in expect.get('absent_codes', []):
            yield 'must not have %s' % brief([item for item in near + actions if item.get('code') == code])
    if 'target' in expect and answer.get('target') not in many(expect['target']):
        yield 'target %s, not %s' % (answer.get('target'), expect['target'])
    for node, wanted in expect.get('candidates', {}).items():
        if candidates.get(node, {}).get('verdict') not in many(wanted):
            yield 'candidate %s is %s, not %s' % (node, candidates.get(node, {}).get('verdict'), wanted)
    if variant['verb'] == 'plan':
        yield from contradictions(answer.get('verdict'), near, chosen)


# ---- running ----


def ask(tool, folder, variant):
    """(answer, complaint): one of them is None."""
    words = [tool, variant['verb'], '--json']
    for key, value in variant['args'].items():
        words += ['--' + key, value]
    if variant['request']:
        words += ['--request', variant['request']]
    try:
        done = subprocess.run(words + variant['files'], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS,
                              check=False)
    except subprocess.TimeoutExpired:
        return None, 'no answer within %d s' % SECONDS
    last = done.stderr.decode('utf-8', 'replace').strip()[-2000:]
    if done.returncode != 0:
        return None, 'exit status %d: %s' % (done.returncode, last)
    try:
        answer = json.loads(done.stdout)
        if isinstance(answer, dict):
            return answer, None
    except ValueError as error:
        last = '%s %s' % (error, last)
    return None, 'the answer is not one JSON object: %s' % last


def run_variant(tool, folder, case, variant, show):
    answer, complaint = ask(tool, folder, variant)
    try:
        wrong = [complaint] if complaint else list(complaints(variant, answer))
    except (KeyError, TypeError, AttributeError) as error:
        wrong = ['the answer is not of the agreed form: %r' % error]
    report = ['FAIL %s/%s: %s' % (case['id'], variant['name'], text) for text in wrong]
    if show and answer is not None:
        report.append('%s/%s: %s' % (case['id'], variant['name'], json.dumps(answer, indent=1)))
    return not wrong, report


def main():
    parser = argparse.ArgumentParser(description='Compares answers of the kvmig tool with what cases expect.')
    parser.add_argument('--kvmig', required=True, metavar='TOOL')
    parser.add_argument('--only', default='*', metavar='GLOB')
    parser.add_argument('--show', action='store_true')
    parser.add_argument('folders', nargs='*', default=[HERE], metavar='FOLDER')
    args = parser.parse_args()
    tool = os.path.abspath(args.kvmig) if os.sep in args.kvmig else args.kvmig
    try:
        known = known_codes()
        cases = [(folder, load_case(folder, known)) for folder in find_cases(args.folders)]
    except Unusable as error:
        print(error)
        return 2
    work = [(folder, case, variant) for folder, case in cases for variant in case['variants']
            if fnmatch.fnmatchcase(case['id'], args.only) or fnmatch.fnmatchcase(case['id'] + '/' + variant['name'], args.only)]
    if not work:
        print('no variant is to be run')
        return 2
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda one: run_variant(tool, *one, args.show), work))
    for _, report in results:
        for line in report:
            print(line)
    failed = sum(not good for good, _ in results)
    clean = sum(case['guard'] for _, case in cases)
    print('%d cases (%d of them clean), %d variants: %d passed, %d failed' %
          (len(cases), clean, len(results), len(results) - failed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
