/** bench/device's pack.sh, unpack.sh and measure.sh, in a checkout of a few bytes: what they refuse, and what they leave. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../host/files/temporaryFolder.ts'
import { endedOnceThere, lives, provider, script, smallCheckout } from './deviceKit.ts'

const place = temporaryFolder()
const inside = (name: string) => path.join(place, name)
const isLinux = process.platform === 'linux'

/** Sleeps as `device` commands that hang do, in a process of its own, and leaves both numbers. */
const sleeper = `import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
const child = spawn('sleep', ['600'])
writeFileSync(process.env.PIDS, [process.pid, child.pid].join(' '))
`
const passing = `console.log(JSON.stringify({ findings: [] }))\n`

function folderOf(name: string, files: Readonly<Record<string, string>>): string {
  mkdirSync(inside(name))
  for (const [file, text] of Object.entries(files)) writeFileSync(path.join(inside(name), file), text)
  return inside(name)
}

const namesIn = (folder: string) => readdirSync(folder).toSorted()

describe.skipIf(!isLinux)('the scripts for a day with a card', () => {
  const checkout = isLinux ? smallCheckout(inside("it's a checkout"), passing) : ''
  const library = isLinux ? folderOf('provider', provider) : ''
  const packedBy = (compress: string, name: string, ...more: string[]): string => {
    const answer = script(checkout, ['pack.sh', inside(name), '--part', '4K', ...more], {
      env: { COMPRESS: compress },
    })
    expect(answer.stderr).toBe('')
    expect(answer.status).toBe(0)
    return inside(name)
  }
  const packed = (name: string, ...more: string[]): string => packedBy('cat', name, ...more)
  /** A copy of what is packed once: most of the time goes into asking npm. */
  const copied = (name: string): string => {
    if (!existsSync(inside('once'))) packed('once')
    cpSync(inside('once'), inside(name), { recursive: true })
    return inside(name)
  }

  test.each(['pack.sh', 'unpack.sh', 'measure.sh'])('%s without arguments prints its usage', (name) => {
    const { status, stderr } = script(checkout, [name])
    expect(status).toBe(2)
    expect(stderr).toContain(`bench/device/${name} `)
    expect(script(checkout, [name, '--help'])).toMatchObject({ status: 0, stderr: '' })
  })

  describe('pack.sh', () => {
    test('writes parts, their digests and their order, again over what was there', () => {
      const out = packed('packed', '--cuda', library)
      writeFileSync(path.join(out, 'base.json'), 'of somebody else')
      writeFileSync(path.join(out, 'base.77'), 'of an earlier call')
      packed('packed', '--cuda', library)
      const names = namesIn(out)
      expect(names).toContain('base.json')
      expect(names).not.toContain('base.77')
      const sums = readFileSync(path.join(out, 'SHA256SUMS'), 'utf8').trim().split('\n')
      expect(sums.map((line) => line.slice(66))).toEqual(names.filter((name) => /^\w+\.\d\d$/.test(name)))
      const [first = '', name = ''] = sums[0]?.split('  ') ?? []
      const bytes = readFileSync(path.join(out, name))
      expect(first).toBe(createHash('sha256').update(bytes).digest('hex'))
      expect(readFileSync(path.join(out, 'ORDER'), 'utf8')).toMatch(/^SHA256SUMS\nbase\.00\n/)
    })

    test.each([
      [
        'a folder without the provider',
        ['--cuda', 'EMPTY'],
        /--cuda: .* has no libonnxruntime_providers_cuda/,
      ],
      ['a provider of another version', ['--cuda', 'OTHER'], /--cuda: .*cuda\.so is not the one in .*json/],
      ['no folder', ['--cuda', 'NOTHING'], /--cuda: there is no folder .*NOTHING/],
      ['a loader without a package', ['--loader', 'EMPTY'], /--loader: .* has no Debian package/],
      ['a package that is none', ['--loader', 'FALSE'], /--loader: .*a\.deb is no Debian package/],
      ['no value', ['--cuda'], /--cuda has no value/],
      ['an option of none', ['--fast', '1'], /There is no option --fast/],
      ['a size of none', ['--part', 'huge'], /--part takes a size such as 30M, not huge/],
      ['parts too small', ['--part', '1'], /may be more than a hundred/],
    ])('refuses %s with a sentence, and leaves what was there', (_, args, sentence) => {
      rmSync(inside('kept'), { recursive: true, force: true })
      rmSync(inside('OTHER'), { recursive: true, force: true })
      folderOf('OTHER', { ...provider, 'libonnxruntime_providers_cuda.so': 'another' })
      rmSync(inside('EMPTY'), { recursive: true, force: true })
      rmSync(inside('FALSE'), { recursive: true, force: true })
      folderOf('EMPTY', {})
      folderOf('FALSE', { 'a.deb': 'not found' })
      const kept = folderOf('kept', { 'base.00': 'packed before' })
      const given = args.map((each) => (/^[A-Z]+$/.test(each) ? inside(each) : each))
      const { status, stderr } = script(checkout, ['pack.sh', kept, ...given])
      expect(stderr).toMatch(sentence)
      expect(status).toBe(2)
      expect(namesIn(kept)).toEqual(['base.00'])
    })

    test('packs the loader, from and to folders with odd names', () => {
      const loader = folderOf('odd #& \\t loader', { 'a b.deb': '!<arch>\n' })
      const out = packed('odd #& \\t', '--loader', loader)
      const { status, stderr } = script(checkout, ['unpack.sh', out, inside('loaded')])
      expect(namesIn(inside('loaded/vulkan-loader'))).toContain('a b.deb')
      expect(existsSync(inside('loaded/environment.sh'))).toBe(true)
      // The package is empty, which matters where the system has no loader.
      if (status !== 0) expect(stderr).toMatch(/The Vulkan loader's package .*a b\.deb cannot be unpacked/)
    })

    test.each([
      ['is not there', 'no-such-compressor', 'There is no no-such-compressor to compress with'],
      ['fails', 'false', '“false” failed on base'],
      ['writes nothing', 'true', '“true” wrote nothing'],
    ])('refuses a compressor that %s', (_, command, sentence) => {
      const { status, stderr } = script(checkout, ['pack.sh', inside('unpacked')], {
        env: { COMPRESS: command },
      })
      expect(status).toBe(2)
      expect(stderr).toContain(command === 'no-such-compressor' ? sentence : 'give --part')
      const again = script(checkout, ['pack.sh', inside('unpacked'), '--part', '30M'], {
        env: { COMPRESS: command },
      })
      expect(again.status).toBe(2)
      expect(again.stderr).toContain(sentence)
    })

    test('refuses a folder that is a file, and one that it packs', () => {
      writeFileSync(inside('file'), '')
      const { status, stderr } = script(checkout, ['pack.sh', inside('file'), '--part', '30M'])
      expect(status).toBe(2)
      expect(stderr).toMatch(/The folder .*file cannot be made/)
      const own = script(checkout, ['pack.sh', path.join(checkout, 'src/parts'), '--part', '30M'])
      expect(own.stderr).toContain('lies inside of what is packed')
    })

    test('ends its compressor with it, and leaves the parts of before', async () => {
      const kept = folderOf('ended', { 'base.00': 'packed before' })
      const slow = inside('slow')
      writeFileSync(slow, `#!/bin/sh\necho $$ >'${inside('slow.pid')}'\nexec sleep 600\n`, { mode: 0o755 })
      const command = [path.join(checkout, 'bench/device/pack.sh'), kept, '--part', '30M'] as const
      expect(await endedOnceThere(inside('slow.pid'), command, { COMPRESS: slow })).toBe(143)
      await pause(200)
      expect(lives(Number(readFileSync(inside('slow.pid'), 'utf8')))).toBe(false)
      expect(namesIn(kept)).toEqual(['base.00'])
    })
  })

  describe('unpack.sh', () => {
    /** The parts with one change, and what unpack.sh says of them. */
    const unpackedAfter = (
      name: string,
      change: (parts: string) => void,
      parts = copied(`${name}-parts`),
    ) => {
      change(parts)
      return script(checkout, ['unpack.sh', parts, inside(`${name}-target`)])
    }

    test.each<[string, (parts: string) => void, RegExp]>([
      [
        'a part is missing',
        (parts) => {
          rmSync(path.join(parts, 'base.01'))
        },
        /Missing in .*: base\.01\. SHA256SUMS lists \d+ parts of base/,
      ],
      [
        'a part is cut short',
        (parts) => {
          truncateSync(path.join(parts, 'base.02'), 100)
        },
        /Not as packed, in .*: base\.02\./,
      ],
      [
        'two are swapped',
        (parts) => {
          renameSync(path.join(parts, 'base.00'), path.join(parts, 'other'))
          renameSync(path.join(parts, 'base.01'), path.join(parts, 'base.00'))
          renameSync(path.join(parts, 'other'), path.join(parts, 'base.01'))
        },
        /Not as packed, in .*: base\.00, base\.01\./,
      ],
      [
        'the digests are missing',
        (parts) => {
          rmSync(path.join(parts, 'SHA256SUMS'))
        },
        /has no SHA256SUMS/,
      ],
    ])('says which where %s', (what, change, sentence) => {
      const { status, stderr } = unpackedAfter(what, change)
      expect(stderr).toMatch(sentence)
      expect(status).toBe(2)
    })

    test('makes the program ready where CUDA is not whole, and says what is missing', () => {
      const { status, stderr } = unpackedAfter(
        'half',
        (parts) => {
          rmSync(path.join(parts, 'cuda.03'))
        },
        packed('half-parts', '--cuda', library),
      )
      expect(status).toBe(2)
      expect(stderr).toContain('cuda.03')
      expect(readFileSync(inside('half-target/environment.sh'), 'utf8')).toContain('TURNWISE_DATA')
    })

    test('asks for the libraries each time, by a path from where it is called', () => {
      writeFileSync(
        path.join(checkout, 'bench/device/placeCuda.mjs'),
        `import { appendFileSync, mkdirSync } from 'node:fs'
const [, data, nvidia] = process.argv.slice(2)
mkdirSync(data + '/libraries/cuda', { recursive: true })
appendFileSync(data + '/asked', nvidia + '\\n')\n`,
      )
      const parts = packed('twice-parts', '--cuda', library)
      folderOf('nvidia', {})
      const call = (nvidia: string) =>
        script(checkout, ['unpack.sh', parts, inside('twice')], {
          env: { NVIDIA_LIBRARIES: nvidia, PYTHON: 'no-such-python' },
          cwd: place,
        })
      expect(call('').status).toBe(0)
      expect(call('nvidia').status).toBe(0)
      const none = call('nowhere')
      expect(none.status).toBe(2)
      expect(none.stderr).toContain('NVIDIA_LIBRARIES: there is no folder nowhere')
      expect(readFileSync(inside('twice/.data/asked'), 'utf8')).toBe(`\n${inside('nvidia')}\n\n`)
      expect(readFileSync(inside('twice/environment.sh'), 'utf8')).toContain('/.data/nvidia:')
    })

    test('unpacks again what was packed anew, and is content without the parts it unpacked', () => {
      const parts = packedBy('gzip -1', 'anew-parts')
      const call = () => script(checkout, ['unpack.sh', parts, inside('anew')])
      expect(call().stdout).toContain('Unpacked the program')
      rmSync(path.join(parts, 'base.00'))
      expect(call()).toMatchObject({ status: 0, stderr: '' })
      writeFileSync(path.join(checkout, 'src/source.ts'), 'export const newer = 1\n')
      packedBy('gzip -1', 'anew-parts')
      expect(call().stdout).toContain('Unpacked the program')
      expect(readFileSync(inside('anew/src/source.ts'), 'utf8')).toContain('newer')
    })

    test('refuses a target that is a file, or that no loader takes', () => {
      const parts = copied('parts')
      writeFileSync(inside('taken'), '')
      expect(script(checkout, ['unpack.sh', parts, inside('taken')]).stderr).toMatch(/taken cannot be made/)
      expect(script(checkout, ['unpack.sh', parts, inside('a:b')]).stderr).toContain('with a colon')
      expect(script(checkout, ['unpack.sh', parts, inside('a\\b')]).stderr).toContain('a backslash')
      expect(script(checkout, ['unpack.sh', inside('none'), inside('x')]).stderr).toMatch(/no folder .*none/)
    })

    test.each(["it's a t", 'a "b" $HOME `c`', '-n #%20'])('prepares %j, where measure.sh runs', (name) => {
      const parts = copied('odd-parts')
      expect(script(checkout, ['unpack.sh', parts, inside(`odd/${name}`)]).status).toBe(0)
      const target = inside(`odd/${name}`)
      const { status, stderr } = script(target, [
        ...(['measure.sh', inside(`odd/out ${name}`)] as const),
        ...['--only', 'webgpu', '--parts', 'selftest'],
      ])
      expect(stderr).toBe('selftest\n')
      expect(status).toBe(0)
      expect(existsSync(path.join(target, '.data'))).toBe(true)
      expect(namesIn(inside(`odd/out ${name}`))).toEqual(['tables.txt', 'webgpu.json'])
    })
  })

  describe('measure.sh', () => {
    test.each([
      ['--only', 'gpu', /--only: there is no “gpu”\. There are webgpu,cuda,bf16,torch/],
      ['--only', 'webgpu,', /--only: there is no “”/],
      ['--parts', 'nonsense', /--parts: there is no “nonsense”\. There are selftest,/],
      ['--minutes', 'abc', /--minutes takes a whole number from 1 to 9999, not “abc”/],
      ['--minutes', '1.5', /--minutes takes/],
      ['--minutes', '08', /--minutes takes/],
      ['--lengths', 'long', /--lengths takes ROWSxTOKENS/],
      ['--shape', '', /--shape has no value/],
      ['--fast', '1', /There is no option --fast/],
    ])('refuses %s %s with a sentence', (option, value, sentence) => {
      const { status, stderr } = script(checkout, ['measure.sh', inside('refused'), option, value])
      expect(stderr).toMatch(sentence)
      expect(status).toBe(2)
      expect(existsSync(inside('refused'))).toBe(false)
    })

    test('refuses results where none can be, and writes nothing elsewhere', () => {
      writeFileSync(inside('a file'), '')
      for (const out of [inside('a file'), '/proc/none', '/sys']) {
        const { status, stderr } = script(checkout, [
          'measure.sh',
          out,
          '--only',
          'webgpu',
          '--parts',
          'selftest',
        ])
        expect(status).toBe(2)
        expect(stderr).toMatch(/^measure\.sh: The folder .* cannot be (?:made|written)/)
      }
      expect(existsSync('/webgpu.json')).toBe(false)
    })

    test('ends the program and all it started with it, and the JSON tells how far it came', async () => {
      const hanging = smallCheckout(inside('hanging'), sleeper)
      const command = [path.join(hanging, 'bench/device/measure.sh'), inside('ended-out')] as const
      const status = await endedOnceThere(inside('pids'), command, { PIDS: inside('pids') })
      expect(status).toBe(143)
      await pause(200)
      for (const id of readFileSync(inside('pids'), 'utf8').split(' ')) expect(lives(Number(id))).toBe(false)
      const { parts } = JSON.parse(readFileSync(inside('ended-out/webgpu.json'), 'utf8')) as {
        parts: { selftest: { failed: string } }
      }
      expect(parts.selftest.failed).toBe('ended by SIGTERM')
      expect(readFileSync(inside('ended-out/tables.txt'), 'utf8')).toContain('## webgpu: ')
    })

    test('leaves a JSON of a row that could not begin, and none of an earlier call', () => {
      const broken = smallCheckout(inside('broken'), passing)
      writeFileSync(path.join(broken, 'bench/device/run.mjs'), 'process.exit(3)\n')
      folderOf('broken-out', { 'webgpu.json': '{ "old": true }' })
      const { status } = script(broken, ['measure.sh', inside('broken-out'), '--only', 'webgpu'])
      expect(status).toBe(1)
      expect(JSON.parse(readFileSync(inside('broken-out/webgpu.json'), 'utf8'))).toMatchObject({
        failed: 'it ended with status 3 before it wrote its results',
      })
    })

    test('says so on a full disk, with the results, and leaves no empty JSON', ({ skip }) => {
      const disk = folderOf('disk', {})
      const mounted = (command: string) =>
        spawnSync('unshare', ['--user', '--map-root-user', '--mount', 'sh', '-c', command], {
          encoding: 'utf8',
        })
      const mount = `mount -t tmpfs -o size=4k none '${disk}' && head -c 4096 /dev/zero >'${disk}/filler'`
      if (mounted(mount).status !== 0) skip('no disk can be made here')
      const measure = `'${checkout.replaceAll("'", `'\\''`)}/bench/device/measure.sh' '${disk}'`
      const { stdout, stderr } = mounted(
        `${mount}; ${measure} --only webgpu --parts selftest; ls -l '${disk}'`,
      )
      expect(stderr).toMatch(/The results could not be written: ENOSPC/)
      expect(stderr).toMatch(/These are the results:\n\{"device":"webgpu"/)
      expect(stdout).not.toContain('webgpu.json.part')
    })
  })
})
