/**
 * What the sandbox's JavaScript has, as declarations: ES2024 and what of later editions its machine knows. Not there:
 * Intl, weak references, shared memory, timers, and everything of a browser.
 */
import es5 from 'typescript/lib/lib.es5.d.ts?raw'
import es2015collection from 'typescript/lib/lib.es2015.collection.d.ts?raw'
import es2015core from 'typescript/lib/lib.es2015.core.d.ts?raw'
import es2015generator from 'typescript/lib/lib.es2015.generator.d.ts?raw'
import es2015iterable from 'typescript/lib/lib.es2015.iterable.d.ts?raw'
import es2015promise from 'typescript/lib/lib.es2015.promise.d.ts?raw'
import es2015proxy from 'typescript/lib/lib.es2015.proxy.d.ts?raw'
import es2015reflect from 'typescript/lib/lib.es2015.reflect.d.ts?raw'
import es2015symbol from 'typescript/lib/lib.es2015.symbol.d.ts?raw'
import es2015wellknown from 'typescript/lib/lib.es2015.symbol.wellknown.d.ts?raw'
import es2016include from 'typescript/lib/lib.es2016.array.include.d.ts?raw'
import es2017object from 'typescript/lib/lib.es2017.object.d.ts?raw'
import es2017string from 'typescript/lib/lib.es2017.string.d.ts?raw'
import es2017typedarrays from 'typescript/lib/lib.es2017.typedarrays.d.ts?raw'
import es2018asyncgenerator from 'typescript/lib/lib.es2018.asyncgenerator.d.ts?raw'
import es2018asynciterable from 'typescript/lib/lib.es2018.asynciterable.d.ts?raw'
import es2018promise from 'typescript/lib/lib.es2018.promise.d.ts?raw'
import es2018regexp from 'typescript/lib/lib.es2018.regexp.d.ts?raw'
import es2019array from 'typescript/lib/lib.es2019.array.d.ts?raw'
import es2019object from 'typescript/lib/lib.es2019.object.d.ts?raw'
import es2019string from 'typescript/lib/lib.es2019.string.d.ts?raw'
import es2019symbol from 'typescript/lib/lib.es2019.symbol.d.ts?raw'
import es2020bigint from 'typescript/lib/lib.es2020.bigint.d.ts?raw'
import es2020promise from 'typescript/lib/lib.es2020.promise.d.ts?raw'
import es2020string from 'typescript/lib/lib.es2020.string.d.ts?raw'
import es2020wellknown from 'typescript/lib/lib.es2020.symbol.wellknown.d.ts?raw'
import es2021promise from 'typescript/lib/lib.es2021.promise.d.ts?raw'
import es2021string from 'typescript/lib/lib.es2021.string.d.ts?raw'
import es2022array from 'typescript/lib/lib.es2022.array.d.ts?raw'
import es2022error from 'typescript/lib/lib.es2022.error.d.ts?raw'
import es2022object from 'typescript/lib/lib.es2022.object.d.ts?raw'
import es2022regexp from 'typescript/lib/lib.es2022.regexp.d.ts?raw'
import es2022string from 'typescript/lib/lib.es2022.string.d.ts?raw'
import es2023array from 'typescript/lib/lib.es2023.array.d.ts?raw'
import es2023collection from 'typescript/lib/lib.es2023.collection.d.ts?raw'
import es2024arraybuffer from 'typescript/lib/lib.es2024.arraybuffer.d.ts?raw'
import es2024collection from 'typescript/lib/lib.es2024.collection.d.ts?raw'
import es2024object from 'typescript/lib/lib.es2024.object.d.ts?raw'
import es2024promise from 'typescript/lib/lib.es2024.promise.d.ts?raw'
import es2024regexp from 'typescript/lib/lib.es2024.regexp.d.ts?raw'
import es2024string from 'typescript/lib/lib.es2024.string.d.ts?raw'
import es2025collection from 'typescript/lib/lib.es2025.collection.d.ts?raw'
import es2025iterator from 'typescript/lib/lib.es2025.iterator.d.ts?raw'
import es2025regexp from 'typescript/lib/lib.es2025.regexp.d.ts?raw'
import decorators from 'typescript/lib/lib.decorators.d.ts?raw'

const files = [
  ...[es5, decorators],
  ...[es2015collection, es2015core, es2015generator, es2015iterable, es2015promise, es2015proxy],
  ...[es2015reflect, es2015symbol, es2015wellknown, es2016include],
  ...[es2017object, es2017string, es2017typedarrays],
  ...[es2018asyncgenerator, es2018asynciterable, es2018promise, es2018regexp],
  ...[es2019array, es2019object, es2019string, es2019symbol],
  ...[es2020bigint, es2020promise, es2020string, es2020wellknown],
  ...[es2021promise, es2021string],
  ...[es2022array, es2022error, es2022object, es2022regexp, es2022string, es2023array, es2023collection],
  ...[es2024arraybuffer, es2024collection, es2024object, es2024promise, es2024regexp, es2024string],
  ...[es2025collection, es2025regexp],
]

/** What refers to the others by name is left out, so that nothing is looked for. */
const alone = (text: string): string => text.replaceAll(/^\/\/\/ <reference .*$/gm, '')

export interface Libraries {
  /** Declared for every script. */
  readonly globals: string
  /** A module, so it cannot stand in one file with the rest. */
  readonly iterators: string
}

export const libraries: Libraries = { globals: alone(files.join('\n')), iterators: alone(es2025iterator) }
