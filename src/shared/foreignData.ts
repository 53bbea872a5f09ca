/** Tells from a file’s name how to convert data in an unsupported format. */

const lastPart = (file: string): string => /[^/\\]*$/.exec(file)?.[0] ?? file

/** Python that writes the rows of a file beside it. */
const python = (code: string): string => `Convert it with Python: ${code}`
export const pandas = (read: string) => (file: string) =>
  python(
    `import pandas as pd; pd.${read}(${JSON.stringify(lastPart(file))}).to_json("rows.jsonl", orient="records", lines=True)`,
  )
export const arrow = (file: string) =>
  python(
    `from datasets import Dataset; Dataset.from_file(${JSON.stringify(lastPart(file))}).to_json("rows.jsonl")`,
  )
const asCsv = () => 'Open it in Excel, LibreOffice or Google Sheets and save the sheet as CSV (UTF-8).'
export const unpack = (command: string) => (file: string) =>
  `Unpack it with \`${command} ${lastPart(file)}\` and import the file in it.`

/** Formats by the end of the name, with advice on conversion. */
const forms: readonly (readonly [ending: RegExp, sentence: string, advice: (file: string) => string])[] = [
  [/\.(?:xlsx?|xlsm|ods|numbers)$/, 'is a spreadsheet', asCsv],
  [/\.arrow$/, 'is an Arrow file', arrow],
  [/\.feather$/, 'is a Feather file', pandas('read_feather')],
  [/\.(?:pkl|pickle)$/, 'is a Python pickle', pandas('read_pickle')],
  [/\.(?:h5|hdf5?)$/, 'is an HDF5 file', pandas('read_hdf')],
  [/\.orc$/, 'is an ORC file', pandas('read_orc')],
  [/\.xml$/, 'is an XML file', pandas('read_xml')],
  [
    /\.npy$/,
    'is a NumPy array',
    () => 'Write its rows as JSON Lines, an object with named columns on each line.',
  ],
  [/\.(?:db|sqlite3?)$/, 'is an SQLite database', () => 'Export the table as CSV.'],
  [
    /\.(?:zip|7z|rar|tar|tgz|tar\.\w+)$/,
    'is an archive',
    () => 'Unpack it and import the file with the rows.',
  ],
  [/\.bz2$/, 'is packed with bzip2', unpack('bzip2 -d')],
  [/\.xz$/, 'is packed with xz', unpack('xz -d')],
  [
    /\.parquet\.(?:gz|zst)$/,
    'is a packed Parquet file',
    () => 'Unpack it: Parquet files are compressed inside.',
  ],
  [
    /\.ya?ml$/,
    'is a YAML file',
    () => 'Write its rows as JSON Lines, an object with named columns on each line.',
  ],
  [
    /\.(?:txt|md)$/,
    'is a text file',
    () =>
      'Write a row for each text: JSON Lines such as {"text": "…"}, or CSV with a line of column names. If it is a table already, change its ending to .csv or .tsv.',
  ],
  [/\.(?:safetensors|gguf|onnx|pt|pth)$/, 'is a model, not data', () => 'Import it as a model.'],
]

export interface ForeignData {
  /** End of a sentence that begins with the file: `is a spreadsheet`. */
  readonly sentence: string
  readonly advice: string
}

/** Returns the unsupported data format that a file's name indicates, if any. */
export function foreignNamed(file: string): ForeignData | undefined {
  const [, sentence, advice] = forms.find(([ending]) => ending.test(file.toLowerCase())) ?? []
  return sentence === undefined || advice === undefined ? undefined : { sentence, advice: advice(file) }
}

/** Recognizes a folder written by save_to_disk of datasets, by the names in it. */
export function foreignFolder(folder: string, names: readonly string[]): ForeignData | undefined {
  const load = `from datasets import load_from_disk; load_from_disk(${JSON.stringify(lastPart(folder))})`
  const isSplit = names.includes('dataset_dict.json')
  if (!isSplit && !names.includes('state.json') && !names.some((name) => name.endsWith('.arrow')))
    return undefined
  return {
    sentence: `is a folder that save_to_disk wrote${isSplit ? ', with several splits' : ''}`,
    advice: python(`${load}${isSplit ? '["train"]' : ''}.to_json("rows.jsonl")`),
  }
}
