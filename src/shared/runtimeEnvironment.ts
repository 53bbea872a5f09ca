/** Set to 0, it forbids NVIDIA's libraries TF32; they have no other value for it. */
export const tf32Override = 'NVIDIA_TF32_OVERRIDE'

/**
 * What must stand in a process's environment before it loads ONNX Runtime. Whoever starts a process that may load it passes it on.
 * - The packages report their use to their maker, with an identifier of the device, unless this is forbidden.
 * - The CUDA provider lets NVIDIA's libraries read the factors of f32 products with 11 significant bits (TF32, on cards from
 *   Ampere on), and the binding has no option that changes it.
 */
export const runtimeEnvironment = { ORT_DISABLE_TELEMETRY: '1', [tf32Override]: '0' } as const
