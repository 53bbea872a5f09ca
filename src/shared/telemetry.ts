/**
 * ONNX Runtime's packages report their use to their maker, with an identifier of the device, unless this stands in a
 * process's environment before the library is loaded. Whoever starts a process that may load it passes it on.
 */
export const telemetryOff = { ORT_DISABLE_TELEMETRY: '1' } as const
