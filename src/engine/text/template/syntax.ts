import { Template as UntypedTemplate } from '@huggingface/jinja'

/** The library's syntax trees, as far as they are read here; its own types do not resolve under Node's module rules. */
export type Node =
  | { type: 'If'; test: Node; body: Node[]; alternate: Node[] }
  | { type: 'For'; loopvar: Node; iterable: Node; body: Node[]; defaultBlock: Node[] }
  | { type: 'Break' }
  | { type: 'Continue' }
  | { type: 'Comment' }
  | { type: 'Set'; assignee: Node; value: Node | null; body: Node[] }
  | { type: 'Macro'; name: Name; args: Node[]; body: Node[] }
  | { type: 'CallStatement'; call: Call; callerArgs: Node[] | null; body: Node[] }
  | { type: 'FilterStatement'; filter: Name | Call; body: Node[] }
  | { type: 'MemberExpression'; object: Node; property: Node; computed: boolean }
  | { type: 'SliceExpression'; start?: Node; stop?: Node; step?: Node }
  | { type: 'IntegerLiteral'; value: number }
  | { type: 'FloatLiteral'; value: number }
  | { type: 'StringLiteral'; value: string }
  | { type: 'ArrayLiteral'; value: Node[] }
  | { type: 'TupleLiteral'; value: Node[] }
  | { type: 'ObjectLiteral'; value: Map<Node, Node> }
  | { type: 'BinaryExpression'; operator: { value: string }; left: Node; right: Node }
  | { type: 'UnaryExpression'; operator: { value: string }; argument: Node }
  | { type: 'FilterExpression'; operand: Node; filter: Name | Call }
  | { type: 'TestExpression'; operand: Node; negate: boolean; test: Name }
  | { type: 'SelectExpression'; lhs: Node; test: Node }
  | { type: 'Ternary'; condition: Node; trueExpr: Node; falseExpr: Node }
  | { type: 'KeywordArgumentExpression'; key: Name; value: Node }
  | { type: 'SpreadExpression'; argument: Node }
  | { type: 'KeywordSpreadExpression'; argument: Node }
  | Name
  | Call

/** The node of one kind. */
export type NodeOf<Kind extends Node['type']> = Extract<Node, { type: Kind }>

export interface Name {
  type: 'Identifier'
  value: string
}

export interface Call {
  type: 'CallExpression'
  callee: Node
  args: Node[]
}

const Template = UntypedTemplate as unknown as new (source: string) => {
  readonly parsed: { readonly body: Node[] }
}

/** The statements of a template; white space around blocks is trimmed as transformers does. Errors: Error, SyntaxError. */
export const parseTemplate = (source: string): readonly Node[] => new Template(source).parsed.body
