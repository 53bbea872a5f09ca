import { labelOf } from '#shared/config/fields.ts'

/** Text of the host with names in backticks: settings appear by their label, with their key in the tooltip. */
export const Sentence = ({ text }: { text: string }) =>
  text.split('`').map((part, i) =>
    i % 2 === 0 ? (
      part
    ) : isSetting(part) ? (
      <span key={i} title={part} className="underline decoration-dotted underline-offset-2">
        {labelOf(part)}
      </span>
    ) : (
      <code key={i}>{part}</code>
    ),
  )

/** True for a dotted key; commands and values are in backticks too. */
const isSetting = (text: string): boolean =>
  /^[a-z][A-Za-z]*(?:\[\d+\])?(?:\.[A-Za-z][A-Za-z0-9]*)+$/.test(text)
