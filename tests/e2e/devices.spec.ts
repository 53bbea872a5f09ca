import path from 'node:path'
import { missingSoftwareGpu, softwareGpu } from '../device/softwareDriver.ts'
import { rememberProof, rememberSpeeds } from '#host/devices/deviceRecords.ts'
import { connectTo, startHost } from './host.ts'
import { demoConfig, expect, seriousProblems, test } from './support.ts'

test('a device is checked in Settings, and the run says where it computes', async ({ app }) => {
  const { page, client } = app
  await app.open('/settings/devices')
  const devices = page.getByRole('list', { name: 'Devices' })
  const cpu = devices.getByRole('listitem', { name: 'CPU' })
  await expect(cpu.getByText('Available', { exact: true })).toBeVisible()
  await cpu.getByRole('button', { name: /^Check.*: CPU$/ }).click()
  await expect(cpu.getByText('Self-test', { exact: true })).toBeVisible()
  // It goes on whatever screen is shown.
  await app.go('/settings/about')
  await expect(page.getByRole('contentinfo').getByText('Checking a device')).toBeVisible()
  await app.go('/settings/devices')
  await expect(
    cpu.getByText(/^All \d+ checks of the self-test passed on .* with ONNX Runtime \d/),
  ).toBeVisible()
  await expect(cpu.getByText('Passed', { exact: true })).toBeVisible()
  await devices.getByRole('listitem', { name: 'CUDA' }).getByText('Why').click()
  expect(await seriousProblems(page)).toEqual([])

  const { runId } = await client.call('runs.start', { config: demoConfig({ name: 'placed', steps: 400 }) })
  await app.go(`/runs/${runId}/overview`)
  await expect(page.getByText(/on the CPU$/)).toBeVisible()
  await expect(page.getByRole('contentinfo').getByText(/^This run: [\d.]+ .B, CPU [\d.]+ %$/)).toBeVisible()
  await app.go(`/runs/${runId}/log`)
  await expect(page.getByText('No other device has passed its check on this machine.')).toBeVisible()
  await app.go('/settings/devices')
  await cpu.getByRole('button', { name: /^Check.*: CPU$/ }).click()
  await expect(cpu.getByText(/A run is training/)).toBeVisible()
  await client.call('runs.kill', { runId })
})

/** What a record was found with is part of it; later journeys find the environment as it was. */
function withSoftwareGpu(action: () => void): void {
  const before = Object.keys(softwareGpu).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, softwareGpu)
  try {
    action()
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Reflect.deleteProperty(process.env, name)
      else process.env[name] = value
    }
  }
}

test.describe('on a software GPU', () => {
  test.skip(missingSoftwareGpu !== null, missingSoftwareGpu ?? '')

  test('a check that failed is told, cancelling keeps it, and a device that passed is chosen by size @whole', async ({
    app,
  }) => {
    const { page, dataDirectory } = app
    const place = { kind: 'webgpu', deviceId: 0 } as const
    const cache = path.join(dataDirectory, 'cache')
    const finding = (name: string, passed: boolean) => ({
      name,
      passed,
      sentence: '',
      limit: 1e-4,
      measured: passed ? 0 : 0.31,
    })
    const remember = (...names: readonly (readonly [string, boolean])[]) =>
      rememberProof(place, cache, {
        findings: names.map(([name, passed]) => finding(name, passed)),
        seconds: 1,
      })
    withSoftwareGpu(() => remember(['operators/Add', true], ['operators/RmsNorm', false]))
    const host = await startHost(dataDirectory, undefined, softwareGpu)
    try {
      await page.goto(host.url)
      await page.evaluate(() => void (location.hash = '/settings/devices'))
      const webgpu = page.getByRole('listitem', { name: 'WebGPU' })
      await expect(webgpu.getByText('Not used')).toBeVisible()
      await expect(webgpu.getByText(/^1 check of 2 failed .* The first is operators\/RmsNorm/)).toBeVisible()
      await webgpu.getByRole('button', { name: 'Check again: WebGPU' }).click()
      await expect(webgpu.getByText(/^[1-9]\d* checks$/)).toBeVisible()
      await webgpu.getByRole('button', { name: 'Cancel' }).click()
      await expect(webgpu.getByText(/^1 check of 2 failed/)).toBeVisible()
      await webgpu.getByRole('button', { name: 'Check again: WebGPU' }).click()
      await expect(webgpu.getByText(/^[1-9]\d* checks$/)).toBeVisible()
      const client = await connectTo(host.url)
      const { runId } = await client.call('runs.start', { config: demoConfig({ steps: 400 }) })
      await expect(webgpu.getByText(/^The check was stopped because a run began/)).toBeVisible()
      await expect(webgpu.getByText(/^1 check of 2 failed/)).toBeVisible()
      await client.call('runs.kill', { runId })
      client.close()

      const speeds = [
        { parameters: 1.7e6, ratio: 0.62 },
        { parameters: 25e6, ratio: 7.34 },
      ]
      withSoftwareGpu(() => {
        remember(['operators/Add', true])
        rememberSpeeds(place, cache, { speeds, memoryBytes: null, problem: null })
      })
      await page.reload()
      await expect(webgpu.getByText(/0\.62 times as fast .* 7\.3 times as fast/)).toBeVisible()
      await page.evaluate(() => void (location.hash = '/settings/self-test'))
      await page.getByRole('combobox', { name: 'Device' }).selectOption('WebGPU')
      await page.getByRole('button', { name: 'Run the quick test' }).click()
      await expect(page.getByText(/Quick test on WebGPU: [1-9]\d* checks? done/)).toBeVisible()
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page.evaluate(() => void (location.hash = '/new-run'))
      await page.getByRole('button', { name: 'Fill in the sample run' }).click()
      await expect(page.getByText('WebGPU is not faster for models of this size here.')).toBeVisible()
    } finally {
      await page.goto('about:blank')
      await host.stop()
    }
  })
})
