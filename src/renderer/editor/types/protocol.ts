/** What an editor asks the type checker and what it is told. Places count characters from 0 in the code as written. */
import type { RowColumn } from './ambient.ts'
import type { CodeLanguage } from './injectTypes.ts'

export interface CheckedCode {
  readonly code: string
  readonly language: CodeLanguage
}

export interface CodeProblem {
  readonly from: number
  readonly to: number
  readonly severity: 'error' | 'warning'
  readonly sentence: string
}

export interface Completion {
  readonly label: string
  /** Where what it replaces begins, where that is not the list's place: a column in brackets takes the dot away. */
  readonly from: number | null
  /** What is inserted, where it is not the label: `["a column"]`. */
  readonly insert: string | null
  /** Kind of thing, as the checker calls it: property, function, keyword… */
  readonly kind: string
  /** Lower stands first. */
  readonly order: string
}

export interface CompletionList {
  /** Where what is replaced begins. */
  readonly from: number
  readonly items: readonly Completion[]
}

/** A type as a line of code, and what is written about it. */
export interface Explanation {
  readonly from: number
  readonly to: number
  readonly signature: string
  readonly documentation: string
}

export interface Signature {
  /** Around the parameter that is being written. */
  readonly before: string
  readonly parameter: string
  readonly after: string
  readonly documentation: string
}

/** What can be asked, with what is answered. */
export interface Questions {
  readonly problems: { readonly asks: CheckedCode; readonly answers: readonly CodeProblem[] }
  readonly complete: {
    readonly asks: CheckedCode & { readonly at: number }
    readonly answers: CompletionList | null
  }
  readonly describe: {
    readonly asks: CheckedCode & { readonly at: number; readonly label: string }
    readonly answers: Explanation | null
  }
  readonly explain: {
    readonly asks: CheckedCode & { readonly at: number }
    readonly answers: Explanation | null
  }
  readonly signature: {
    readonly asks: CheckedCode & { readonly at: number }
    readonly answers: Signature | null
  }
}

export type QuestionName = keyof Questions

export type ToChecker =
  | { readonly kind: 'columns'; readonly columns: readonly RowColumn[] | null }
  | {
      [Name in QuestionName]: {
        readonly kind: 'ask'
        readonly id: number
        readonly question: Name
        readonly input: Questions[Name]['asks']
      }
    }[QuestionName]

export type FromChecker =
  | { readonly kind: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string }
