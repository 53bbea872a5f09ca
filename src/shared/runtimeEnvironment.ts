/** Variable that forbids TF32 to NVIDIA's libraries when set to 0; they have no other value for it. */
export const tf32Override = 'NVIDIA_TF32_OVERRIDE'

/**
 * Variables that must be in a process's environment before it loads ONNX Runtime. Code that starts such a process
 * passes them on.
 * - The packages report their use to their maker, with an identifier of the device, unless this is forbidden.
 * - The CUDA provider lets NVIDIA's libraries read the factors of f32 products with 11 significant bits (TF32, on cards
 * from
 *   Ampere on), and the binding has no option that changes it.
 */
export const runtimeEnvironment = { ORT_DISABLE_TELEMETRY: '1', [tf32Override]: '0' } as const
