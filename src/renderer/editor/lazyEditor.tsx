/** Editors loaded when they are first shown, so that no other screen pays for them. */
import { lazy, Suspense, type ComponentType } from 'react'
import { Loading } from '#renderer/kit/states.tsx'
import type { CodeDiffProps } from './CodeDiff.tsx'
import type { CodeEditorProps } from './CodeEditor.tsx'
import type { CodeViewProps } from './CodeView.tsx'

const Editor = lazy(async () => ({ default: (await import('./CodeEditor.tsx')).CodeEditor }))
const Diff = lazy(async () => ({ default: (await import('./CodeDiff.tsx')).CodeDiff }))
const View = lazy(async () => ({ default: (await import('./CodeView.tsx')).CodeView }))

export const LazyCodeEditor = (props: CodeEditorProps) => <Shown of={Editor} props={props} />
export const LazyCodeDiff = (props: CodeDiffProps) => <Shown of={Diff} props={props} />
export const LazyCodeView = (props: CodeViewProps) => <Shown of={View} props={props} />

function Shown<Props extends object>({ of: Component, props }: { of: ComponentType<Props>; props: Props }) {
  return (
    <Suspense fallback={<Loading label="Loading the editor" />}>
      <Component {...props} />
    </Suspense>
  )
}
