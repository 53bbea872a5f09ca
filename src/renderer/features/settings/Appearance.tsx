import { RadioGroup } from 'radix-ui'
import { useTheme, type Theme } from '#renderer/client/theme.ts'
import { Section } from './Section.tsx'

const choices: readonly { readonly id: Theme; readonly title: string; readonly about: string }[] = [
  { id: 'system', title: 'System', about: 'Follows the system, including its night mode.' },
  { id: 'light', title: 'Light', about: 'Dark text on white.' },
  { id: 'dark', title: 'Dark', about: 'Light text on near black.' },
  { id: 'contrast', title: 'High contrast', about: 'Black, white and a few strong colours.' },
]

/** Theme of the window. */
export function AppearanceSection() {
  const [theme, setTheme] = useTheme()
  return (
    <>
      <Section title="Theme">
        <RadioGroup.Root
          aria-label="Theme"
          value={theme}
          onValueChange={(next) => setTheme(next as Theme)}
          className="grid grid-cols-[repeat(auto-fill,minmax(132px,1fr))] gap-3"
        >
          {choices.map(({ id, title, about }) => (
            <RadioGroup.Item
              key={id}
              value={id}
              aria-label={title}
              className="flex flex-col gap-2 rounded border border-line p-2 text-left hover:border-line-strong data-[state=checked]:border-accent data-[state=checked]:bg-accent-soft"
            >
              <Sketch theme={id} />
              <span className="px-1">
                <span className="block font-medium">{title}</span>
                <span className="block text-sm text-muted text-pretty">{about}</span>
              </span>
            </RadioGroup.Item>
          ))}
        </RadioGroup.Root>
      </Section>
      <Section title="Motion">
        <p className="max-w-140 text-muted text-pretty">
          Charts are not animated. Panels and menus fade in briefly, and not at all if the system asks for
          reduced motion. Forced system colours are respected.
        </p>
      </Section>
    </>
  )
}

/** Preview of a window in a theme's colours, independent of the current theme. */
function Sketch({ theme }: { theme: Theme }) {
  if (theme === 'system') {
    return (
      <span aria-hidden className="flex h-16 overflow-hidden rounded-sm border border-line">
        <span className="flex w-1/2 overflow-hidden">
          <SketchOf look={looks.light} />
        </span>
        <span className="flex w-1/2 overflow-hidden">
          <SketchOf look={looks.dark} />
        </span>
      </span>
    )
  }
  return (
    <span aria-hidden className="flex h-16 overflow-hidden rounded-sm border border-line">
      <SketchOf look={looks[theme]} />
    </span>
  )
}

/** Background, panel, border, text, accent, and a run's colour. */
const looks = {
  light: ['#ffffff', '#fafafa', '#e4e4e7', '#52525b', '#4f46e5', '#0072b2'],
  dark: ['#0c0c0e', '#141417', '#2a2a2f', '#adadb6', '#818cf8', '#56b4e9'],
  contrast: ['#000000', '#000000', '#ffffff', '#ffffff', '#ffe600', '#6cc8ff'],
} as const

function SketchOf({
  look: [ground, panel, line, text, accent, run],
}: {
  look: (typeof looks)[keyof typeof looks]
}) {
  return (
    <svg viewBox="0 0 160 64" preserveAspectRatio="xMinYMin slice" className="size-full">
      <rect width="160" height="64" fill={ground} />
      <rect width="18" height="64" fill={panel} />
      <path d="M18.5 0v64M18 12.5h142" stroke={line} />
      <rect x="26" y="4" width="28" height="4" rx="2" fill={text} />
      <rect x="134" y="3" width="20" height="6" rx="2" fill={accent} />
      <path
        d="M26 54 L46 50 L62 40 L84 34 L104 24 L128 21 L152 20"
        fill="none"
        stroke={run}
        strokeWidth="2"
      />
      <path d="M26 58.5h126" stroke={line} />
    </svg>
  )
}
