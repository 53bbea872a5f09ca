import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { deviceRemarks, type DeviceCheck } from '#shared/device.ts'
import { deviceFile, withoutPlaces } from '#host/devices/deviceFile.ts'

const check = (problem: string): DeviceCheck => ({
  at: 1,
  with: 'ONNX Runtime 1.30.0',
  checks: 74,
  speeds: [{ parameters: 1.7e6, ratio: 2.5 }],
  memoryBytes: null,
  failures: [{ name: 'operators/RmsNorm', measured: 0.2, limit: 1e-4 }],
  problem,
})

test.each([
  ['/home/ada/models/x.so: cannot open', '… cannot open'],
  ['Load failed (“/opt/lib x”), C:\\Users\\Ada\\AppData\\x.dll.', 'Load failed (“… x”), …'],
  ['file:///home/ada/x.node and ~/y and \\\\server\\share', '… and … and …'],
  ['tokens/s, operators/RmsNorm, 24/7, 10de:2684', 'tokens/s, operators/RmsNorm, 24/7, 10de:2684'],
  ['Ada-PC of ADA ran out; adapter stays', '… of … ran out; adapter stays'],
])('%s', (given, written) => {
  expect(withoutPlaces({ given: [given] }, ['ada-pc', 'ada'])).toEqual({ given: [written] })
})

test('a file tells devices and their checks, whatever the driver’s messages name', () => {
  const problem = `Its process ended: ${process.cwd()}/driver.so on ${hostname()}`
  const file = deviceFile([
    { kind: 'webgpu', available: true, check: check(problem) },
    { kind: 'dml', available: false, reason: 'Only on Windows.', hint: '', command: '', check: null },
  ])
  const text = JSON.stringify(file)
  expect(text).not.toContain(process.cwd())
  expect(text).not.toContain(hostname())
  expect(file.devices[0]!.check).toMatchObject({
    checks: 74,
    failures: [{ name: 'operators/RmsNorm', measured: 0.2 }],
    speeds: [{ parameters: 1.7e6, ratio: 2.5 }],
  })
  expect(file.devices[0]!.remarks).toEqual(deviceRemarks('webgpu'))
  expect(file).toMatchObject({
    format: 1,
    versions: expect.stringContaining('onnxruntime-node 1.30.0') as string,
  })
})
