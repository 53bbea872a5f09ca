/** Recognises the language of prompts by script or by function words. */

/** Function words of languages that share the Latin script. Words that two of them have are left out where that can be. */
const words: Readonly<Record<string, string>> = {
  English:
    'the of and to in is are what how many please you can find with for that this which if each from by has',
  German:
    'der die das und von ist sind wie viele bitte du kannst zu mit für ein eine nicht den dem im welche wenn aus',
  French:
    'le la les des et est dans combien quel quelle que pour une avec tu merci un du sur qui si chaque parmi peux',
  Spanish:
    'el los las en y qué cuántas cuántos hay una por favor puedes del para con se cuál es que si cada más',
  Italian:
    'il lo gli di e che quanti quante un una per favore puoi con nel della sono quale se ogni più è da ci',
  Portuguese:
    'o os as em e que quantos quantas há uma por favor você pode com do da no na não qual se cada mais são',
  Dutch: 'de het een en van is zijn hoeveel wat kun je met voor niet welke als alsjeblieft dat uit elke',
  Polish: 'i w z na jest są ile proszę czy możesz do nie który jeśli każdy się oraz od to',
  Turkish: 've bir bu için ile kaç ne lütfen mi mı misin en olan nedir tane var şu da de',
}

const scripts: Readonly<Record<string, RegExp>> = {
  Russian: /^\p{Script=Cyrillic}+$/u,
  Japanese: /[\p{Script=Hiragana}\p{Script=Katakana}]/u,
  Chinese: /^\p{Script=Han}+$/u,
  Korean: /^\p{Script=Hangul}+$/u,
  Arabic: /^\p{Script=Arabic}+$/u,
  Hindi: /^[\p{Script=Devanagari}\p{M}]+$/u,
  Greek: /^\p{Script=Greek}+$/u,
  Hebrew: /^\p{Script=Hebrew}+$/u,
  Thai: /^[\p{Script=Thai}\p{M}]+$/u,
}

const tests: readonly (readonly [language: string, isOf: (word: string) => boolean])[] = [
  ...Object.entries(words).map(([language, list]) => {
    const known = new Set(list.split(' '))
    return [language, (word: string) => known.has(word)] as const
  }),
  ...Object.entries(scripts).map(
    ([language, pattern]) => [language, (word: string) => pattern.test(word)] as const,
  ),
]

/** Share of the prompts that have to have such words, and how many times as many words as of any other language. */
const [often, lead] = [0.3, 2]

/** The language of words, prompt by prompt, and the share of prompts with words of it; null where it is not clear. */
export function languageOf(
  prompts: readonly (readonly string[])[],
): { readonly language: string; readonly share: number } | null {
  const [first, second] = tests
    .map(([language, isOf]) => {
      const hits = prompts.map((said) => said.filter(isOf).length)
      const total = hits.reduce((sum, count) => sum + count, 0)
      return { language, total, share: hits.filter((count) => count > 0).length / prompts.length }
    })
    .toSorted((a, b) => b.total - a.total)
  if (first === undefined || first.share < often || first.total < lead * (second?.total ?? 0)) return null
  return { language: first.language, share: first.share }
}
