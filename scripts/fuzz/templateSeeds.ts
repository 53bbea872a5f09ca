/** Templates that do little in each round and much in one step: lists shared a million times, searches, sorts, spellings. */

/** Doubles a value sixty times: 2^60 places that are one list. */
const doubled = (start: string, next: string, use: string): string =>
  `{% set ns=namespace(x=${start}, y=${start}) %}{% for i in range(60) %}` +
  `{% set ns.x=${next.replaceAll('X', 'ns.x')} %}{% set ns.y=${next.replaceAll('X', 'ns.y')} %}{% endfor %}${use}`

const again = (first: string, work: string): string =>
  `{% set v=${first} %}{% for i in range(10000) %}{% set z=${work} %}{% endfor %}`

const lists = (use: string): string => doubled('[1]', '[X,X]', use)
const dicts = (use: string): string => doubled("{'a':1}", "{'a':X,'b':X}", use)
const keep = (work: string): string =>
  `{% set ns=namespace(x=[]) %}{% set t='a'*2000000 %}{% for i in range(10000) %}{% set ns.x=ns.x+[${work}] %}{% endfor %}`

/** By what they do. None of them can be rendered. */
export const hostileTemplates: Readonly<Record<string, string>> = {
  'spells shared lists': lists('{{ ns.x }}'),
  'joins shared lists': lists('{{ [ns.x]|join }}'),
  'formats shared lists': lists("{{ '%s' % [ns.x] }}{{ '{}'.format(ns.x) }}"),
  'writes shared lists as JSON': lists('{{ ns.x|tojson }}'),
  'writes shared lists as JSON on lines': lists('{{ ns.x|tojson(indent=4) }}'),
  'compares shared lists': lists('{{ ns.x == ns.y }}'),
  'orders shared lists': lists('{{ ns.x < ns.y }}'),
  'looks for a shared list': lists('{{ ns.x in [ns.y] }}{{ [ns.y].index(ns.x) }}'),
  'spells shared dicts': dicts('{{ ns.x }}'),
  'sorts the keys of shared dicts': dicts('{{ ns.x|tojson(sort_keys=true) }}'),
  'compares shared dicts': dicts('{{ ns.x == ns.y }}'),
  'makes lists unique': again('range(10000)', 'v|unique|list'),
  'makes ranges': again('0', 'range(10000)'),
  'cuts lists': again('range(10000)', 'v[::1]'),
  'sorts lists': again("range(10000)|map('string')|list", 'v|sort'),
  'finds the largest': again('range(10000)|list', 'v|max'),
  'copies lists': again('range(10000)|list', '(v+v+v+v)|list'),
  'cuts texts': again("'a'*4000000", 'v[::2]'),
  'splits texts': again("'a'*4000000", "v.split('a')"),
  'splits at blanks': again("'a b '*1000000", 'v.split()'),
  'strips texts': again("'a'*4000000", "v.strip('ab')"),
  'strips many letters': again("'abcdefghij'*400000", "''.strip(v)"),
  'titles texts': again("'a b '*1000000", 'v.title()'),
  'indents texts': again("'a\\n'*1000000", 'v|indent(1)'),
  'counts words': again("'a b '*1000000", 'v|wordcount'),
  'escapes texts': again("'&'*700000", 'v|e'),
  'walks long paths': "{% set p='a.'*2000000 %}{{ ([{}]*100000)|map(attribute=p)|list|length }}",
  'searches a long text for a long one': "{% set t='a'*3000000 %}{% set p='b'+'a'*1500000 %}{{ p in t }}",
  'replaces a long text in a long one':
    "{% set t='a'*3000000 %}{% set p='b'+'a'*1500000 %}{{ t.replace(p, '') }}",
  'puts a text between letters': "{% set t='a'*4000000 %}{{ t.replace('', t)|length }}",
  'joins long texts': "{% set t='a'*4000000 %}{{ ([t]*200)|join }}",
  'joins by a long text': "{% set t='a'*4000000 %}{{ ([1]*200)|join(t) }}",
  'formats long texts': "{% set t='a'*4000000 %}{{ ('%(a)s'*800000) % {'a': t} }}",
  'indents JSON widely': "{{ ([[1]*10]*100000)|tojson(indent='x'*1000000) }}",
  'escapes JSON': "{{ ('\u00e9'*4000000)|tojson(ensure_ascii=true)|length }}",
  'keeps texts': keep('t.upper()'),
  'keeps joined texts': keep("[t ~ i, (t ~ i).startswith('x')]"),
  'takes tiny steps': '{{ [1][0:1:0.0000000001] }}',
  'has many blanks': `${' '.repeat(390_000)}x`,
  'nests scopes':
    '{% for a in [1] %}'.repeat(380) +
    `{% for i in range(10000) %}${'{{ zz }}'.repeat(6)}{% endfor %}` +
    '{% endfor %}'.repeat(380),
}

/** The same with so much less of it that they can be rendered; a digit more, and some cannot. */
export const busyTemplates: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(hostileTemplates)
    .filter(([name, source]) => name !== 'takes tiny steps' && source.length < 1_000)
    .map(([name, source]) => [
      name,
      source.replace('range(60)', 'range(12)').replace(/\d{5,}/g, (size) => size.slice(0, 3)),
    ]),
)

const nested = (open: string, inner: string, close: string) => (levels: number) =>
  open.repeat(levels) + inner + close.repeat(levels)
const wrapped = (use: string) => (levels: number) =>
  `{% set ns=namespace(x=[1], y=[2]) %}{% for i in range(${levels}) %}` +
  `{% set ns.x=[ns.x] %}{% set ns.y=[ns.y] %}{% endfor %}{{ ${use} }}`

/** Templates with so many levels inside one another, by what nests. */
export const nestedTemplates: Readonly<Record<string, (levels: number) => string>> = {
  loops: nested('{% for a in [1] %}', 'x', '{% endfor %}'),
  conditions: nested('{% if 1 %}', 'x', '{% endif %}'),
  branches: (levels) => `{% if 0 %}${'{% elif 0 %}x'.repeat(levels)}{% endif %}`,
  captures: nested('{% set a %}', 'x', '{% endset %}'),
  filtered: nested('{% filter upper %}', 'x', '{% endfilter %}'),
  callers: (levels) =>
    `{% macro f() %}{{ caller() }}{% endmacro %}${nested('{% call f() %}', 'x', '{% endcall %}')(levels)}`,
  macros: (levels) => `{% macro f(i) %}{% if i > 0 %}{{ f(i-1) }}{% endif %}{% endmacro %}{{ f(${levels}) }}`,
  loopTests: (levels) =>
    `{% macro f(i) %}{% for x in [1] if i == 0 or f(i-1) %}{% endfor %}{% endmacro %}{{ f(${levels}) }}`,
  lists: (levels) => `{{ ${nested('[', '1', ']')(levels)} | length }}`,
  arguments: (levels) => `{{ ${nested('dict(a=', '1', ')')(levels)} | length }}`,
  negations: (levels) => `{{ ${'not '.repeat(levels)}1 }}`,
  operands: (levels) => `{{ 1${'~1'.repeat(levels)} }}`,
  filters: (levels) => `{{ 'a'${'|upper'.repeat(levels)} }}`,
  equalLists: wrapped('ns.x == ns.y'),
  orderedLists: wrapped('ns.x < ns.y'),
  soughtLists: wrapped('ns.x in [ns.y]'),
}
