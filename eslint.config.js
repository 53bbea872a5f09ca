import comments from '@eslint-community/eslint-plugin-eslint-comments'
import { defineConfig, globalIgnores } from 'eslint/config'
import reactHooks from 'eslint-plugin-react-hooks'
import tseslint from 'typescript-eslint'

/** A limit is raised here, with a reason, never by a comment in the file. */
const limits = {
  'max-lines': ['error', 600],
  'max-lines-per-function': ['error', 60],
  'max-params': ['error', 4],
  'max-depth': ['error', 3],
  complexity: ['error', 10],
}

const onlyQuietly = {
  name: 'onnxruntime-node',
  allowTypeImports: true,
  message: 'Import #engine/runtime/onnxRuntime.ts: it turns the telemetry off first.',
}
const noDefaultExport = { selector: 'ExportDefaultDeclaration', message: 'Export by name.' }
const noSpreadLiteral = {
  selector: 'ObjectExpression > SpreadElement > ObjectExpression',
  message: 'Write the properties themselves: spreading them saves lines, not thought.',
}
const noClock = {
  selector: 'NewExpression[callee.name="Date"][arguments.length=0]',
  message: 'A run must not depend on the time of day.',
}

export default defineConfig(
  globalIgnores(['node_modules/', 'out/', 'dist/', 'bench/peers/', 'tests/fixtures/', 'resources/', 'site/']),
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      ...limits,
      'no-restricted-syntax': ['error', noDefaultExport, noSpreadLiteral],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-restricted-imports': ['error', { paths: [onlyQuietly] }],
      // Code points are what tokenizers and generators want.
      '@typescript-eslint/no-misused-spread': ['error', { allow: ['string'] }],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },
  {
    plugins: { '@eslint-community/eslint-comments': comments },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@eslint-community/eslint-comments/require-description': 'error',
      '@eslint-community/eslint-comments/no-unlimited-disable': 'error',
      '@eslint-community/eslint-comments/no-restricted-disable': ['error', ...Object.keys(limits)],
    },
  },
  {
    files: ['src/**/*.{ts,tsx}'],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: [{ regex: String.raw`^(\.\./){2,}`, message: 'Import across folders by #layer/….' }] },
      ],
    },
  },
  {
    // What is drawn stands in one piece: a component may be longer than other functions, and its conditions are parts
    // of the picture. Props are one argument.
    files: ['src/renderer/**/*.tsx'],
    plugins: { 'react-hooks': reactHooks },
    rules: {
      ...reactHooks.configs.recommended.rules,
      // Says only that the React compiler, which is not used, would leave a component alone.
      'react-hooks/incompatible-library': 'off',
      'max-lines-per-function': ['error', 90],
      complexity: ['error', 18],
    },
  },
  {
    // Hooks are functions of functions.
    files: ['src/renderer/client/**/*.ts', 'src/renderer/**/use*.ts'],
    plugins: { 'react-hooks': reactHooks },
    rules: {
      ...reactHooks.configs.recommended.rules,
      'max-lines-per-function': ['error', 80],
      complexity: ['error', 14],
    },
  },
  {
    // With noUncheckedIndexedAccess a read of a typed array is `number | undefined`; in number crunching `!` says that
    // the loop's bound is the array's length.
    files: ['src/{engine,rl}/**/*.ts', 'scripts/starter/fullTrainer.ts', 'tests/**/*.ts'],
    rules: { '@typescript-eslint/no-non-null-assertion': 'off' },
  },
  {
    // A run depends on its seed alone.
    files: ['src/{engine,rl}/**/*.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: 'Use a stream of #shared/random.ts.' },
        { object: 'Date', property: 'now', message: 'A run must not depend on the time of day.' },
      ],
      'no-restricted-syntax': ['error', noDefaultExport, noClock],
    },
  },
  {
    // A describe block is a list of tests, and a fake may be async because the real one is.
    files: ['tests/**/*.ts'],
    rules: { 'max-lines-per-function': 'off', '@typescript-eslint/require-await': 'off' },
  },
  {
    // A table of data.
    files: ['src/shared/metrics.ts'],
    rules: { 'max-lines': 'off' },
  },
  {
    // These tools ask for a default export.
    files: ['*.config.ts', 'tests/e2e/prepare.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
)
