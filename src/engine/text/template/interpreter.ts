/**
 * Runs a chat template as Python's Jinja does, within limits: a template is a program that came with a model. The library
 * parses it; what its statements and values do is ours, since prompts have to be the same to the letter. Reading guide:
 * statements here, expressions in `expressions.ts`; values and how they are written in `values.ts`; `operators.ts`, `methods.ts`
 * and `filters.ts` are tables; `scope.ts` knows the names.
 */
import { applyFilter, argumentsOf, callValue, evaluate, type Node, type NodeOf } from './expressions.ts'
import { boundedText, boundLength, charge, enterLevel, joinedText, leaveLevel } from './limits.ts'
import { Scope } from './scope.ts'
import {
  type CallArguments,
  isEqual,
  isTrue,
  itemsOf,
  Namespace,
  textOf,
  Tuple,
  type Callable,
  type Value,
} from './values.ts'

const maxPasses = 50_000

/** End of a block: normal, or a jump to the end of its loop's round or of its loop. */
type Jump = 'next' | 'end' | null

/** Text as it comes to be. */
interface Output {
  readonly parts: string[]
  length: number
}

/** Runs one rendering of one template. Errors: Error with half a sentence, for whatever the template or its limits refuse. */
export class Interpreter {
  #passes = 0

  render(statements: readonly Node[], scope: Scope): string {
    const output: Output = { parts: [], length: 0 }
    this.#runBlock(statements, scope, output)
    return joinedText(output.parts, '')
  }

  #write(output: Output, text: string): void {
    output.parts.push(boundedText(text))
    output.length += text.length
    boundLength(output.length)
  }

  #count(): void {
    if (++this.#passes > maxPasses) throw new Error(`its loops ran more than ${maxPasses} times`)
  }

  #runBlock(statements: readonly Node[], scope: Scope, output: Output): Jump {
    for (const statement of statements) {
      enterLevel()
      const jump = this.#run(statement, scope, output)
      leaveLevel()
      if (jump !== null) return jump
    }
    return null
  }

  #run(node: Node, scope: Scope, output: Output): Jump {
    switch (node.type) {
      case 'If':
        return this.#runBlock(isTrue(evaluate(node.test, scope)) ? node.body : node.alternate, scope, output)
      case 'For':
        this.#runLoop(node, scope, output)
        return null
      case 'Break':
        return 'end'
      case 'Continue':
        return 'next'
      case 'Set':
        this.#assign(node.assignee, this.#assigned(node, scope), scope)
        return null
      case 'Macro':
        scope.set(node.name.value, this.#macro(node.args, node.body, scope))
        return null
      case 'CallStatement':
        this.#write(output, textOf(this.#callBlock(node, scope)))
        return null
      case 'FilterStatement':
        this.#write(output, textOf(applyFilter(this.render(node.body, new Scope(scope)), node.filter, scope)))
        return null
      default:
        this.#write(output, textOf(evaluate(node, scope)))
        return null
    }
  }

  #assigned(node: NodeOf<'Set'>, scope: Scope): Value {
    return node.value === null ? this.render(node.body, new Scope(scope)) : evaluate(node.value, scope)
  }

  #assign(target: Node, value: Value, scope: Scope): void {
    if (target.type === 'Identifier') scope.set(target.value, value)
    else if (target.type === 'TupleLiteral') {
      const items = itemsOf(value)
      if (items.length !== target.value.length)
        throw new Error(`it unpacks ${items.length} values into ${target.value.length} names`)
      for (const [at, name] of target.value.entries()) this.#assign(name, items[at], scope)
    } else if (target.type === 'MemberExpression' && target.property.type === 'Identifier') {
      const object = evaluate(target.object, scope)
      if (!(object instanceof Namespace))
        throw new Error('it assigns to a field of something that is not a namespace')
      object.fields.set(target.property.value, value)
    } else throw new Error('it assigns to something that is not a name')
  }

  #runLoop(node: NodeOf<'For'>, scope: Scope, output: Output): void {
    const items = this.#loopItems(node, scope)
    let changed: Value
    for (const [at, item] of items.entries()) {
      this.#count()
      const round = new Scope(scope)
      this.#assign(node.loopvar, item, round)
      round.set(
        'loop',
        loopOf(items, at, (value) => {
          const isChanged = !isEqual(changed, value)
          changed = value
          return isChanged
        }),
      )
      if (this.#runBlock(node.body, round, output) === 'end') break
    }
    if (items.length === 0) this.#runBlock(node.defaultBlock, new Scope(scope), output)
  }

  /** Returns the items that pass in `for item in items if test`. */
  #loopItems(node: NodeOf<'For'>, scope: Scope): readonly Value[] {
    const { iterable } = node
    if (iterable.type !== 'SelectExpression') return itemsOf(evaluate(iterable, scope))
    return itemsOf(evaluate(iterable.lhs, scope)).filter((item) => {
      this.#count()
      const inner = new Scope(scope)
      this.#assign(node.loopvar, item, inner)
      return isTrue(evaluate(iterable.test, inner))
    })
  }

  #macro(parameters: readonly Node[], body: readonly Node[], scope: Scope): Callable {
    return ({ args, named }) => {
      this.#count()
      charge((1 + parameters.length) * (1 + named.size))
      const inner = new Scope(scope)
      const names = parameters.map(parameterName)
      for (const [at, parameter] of parameters.entries()) {
        const name = names[at] ?? ''
        const given = at < args.length ? args[at] : named.get(name)
        const isGiven = at < args.length || named.has(name)
        const fallback = parameter.type === 'KeywordArgumentExpression' ? parameter.value : null
        inner.set(name, isGiven || fallback === null ? given : evaluate(fallback, inner))
      }
      inner.set('varargs', Tuple.from(args.slice(parameters.length)))
      inner.set('kwargs', new Map([...named].filter(([name]) => !names.includes(name) && name !== 'caller')))
      if (named.has('caller')) inner.set('caller', named.get('caller'))
      return this.render(body, inner)
    }
  }

  #callBlock(node: NodeOf<'CallStatement'>, scope: Scope): Value {
    const { args, named } = argumentsOf(node.call.args, scope)
    const caller = this.#macro(node.callerArgs ?? [], node.body, scope)
    return callValue(evaluate(node.call.callee, scope), {
      args,
      named: new Map([...named, ['caller', caller]]),
    })
  }
}

function parameterName(parameter: Node): string {
  if (parameter.type === 'Identifier') return parameter.value
  return parameter.type === 'KeywordArgumentExpression' ? parameter.key.value : ''
}

/** Builds the `loop` variable of a round. */
function loopOf(items: readonly Value[], at: number, changed: (value: Value) => boolean): Value {
  const { length } = items
  return new Map<string, Value>([
    ['index', at + 1],
    ['index0', at],
    ['revindex', length - at],
    ['revindex0', length - at - 1],
    ['first', at === 0],
    ['last', at === length - 1],
    ['length', length],
    ['previtem', at === 0 ? undefined : items[at - 1]],
    ['nextitem', items[at + 1]],
    ['depth', 1],
    ['depth0', 0],
    ['cycle', ({ args }: CallArguments) => args[at % Math.max(1, args.length)]],
    ['changed', ({ args }: CallArguments) => changed(Tuple.from(args))],
  ])
}
