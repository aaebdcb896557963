/** A card of DSH's tab "Plugin configuration": what a person may set of one plugin. */
import { useEffect, useId, useReducer, useState, type FormEvent, type ReactNode } from 'react'
import {
  draftKey,
  isOwn,
  save,
  shownText,
  writeOf,
  type Draft,
  type Drafts,
  type SettingsField,
} from './settings-form.ts'
import { settingsWords, type SettingsWords } from './settings-words.ts'

export interface SettingsCardProps {
  readonly title: string
  readonly text: string
  /** The same fields in the same order each time; those of a source that is not there are left out. */
  readonly fields: readonly SettingsField[]
  readonly locale: string
  /** Test ids are `<id>-card`, `<id>-<name>`. */
  readonly id: string
}

const NOTHING: Drafts = new Map()

export function SettingsCard({ fields, id, locale, text, title }: SettingsCardProps) {
  const words = settingsWords(locale)
  const [drafts, setDrafts] = useState(NOTHING)
  const [said, setSaid] = useState<{ readonly text: string; readonly isBad: boolean }>()
  const [isBusy, setBusy] = useState(false)
  useSources(fields)
  const shown = fields.filter(({ source }) => source.getSnapshot().value !== undefined)
  const isWritable = shown.every(({ source }) => source.getSnapshot().writable)
  const isInvalid = shown.some((field) => problemOf(field, drafts, fields, words) !== undefined)
  const draft = (field: SettingsField, next: Draft) => {
    setSaid(undefined)
    setDrafts(new Map(drafts).set(draftKey(field, fields), next))
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isInvalid || isBusy || drafts.size === 0) return
    setBusy(true)
    void save(fields, drafts).then((refused) => {
      setBusy(false)
      setDrafts(new Map([...drafts].filter(([key]) => refused.some((one) => draftKey(one, fields) === key))))
      const labels = refused.map(({ label }) => label).join(', ')
      setSaid(
        refused.length === 0
          ? { text: words('saved'), isBad: false }
          : { text: words('refused', { fields: labels }), isBad: true },
      )
    })
  }
  return (
    <section className="dset" aria-label={title} data-testid={`${id}-card`}>
      <details>
        <summary>
          <span className="dset-name">{title}</span>
          {drafts.size === 0 ? null : <span className="dset-badge">{words('unsaved')}</span>}
          <span className="dset-hint">{text}</span>
        </summary>
        <form onSubmit={submit} noValidate>
          {shown.length === 0 ? <p className="dset-hint">{words('loading')}</p> : null}
          {shown.length > 0 && !isWritable ? <p className="dset-hint">{words('readOnly')}</p> : null}
          {shown.map((field) => (
            <FieldRow
              key={draftKey(field, fields)}
              field={field}
              draft={drafts.get(draftKey(field, fields))}
              problem={problemOf(field, drafts, fields, words)}
              isDisabled={!isWritable || isBusy}
              testId={`${id}-${field.name}`}
              words={words}
              onDraft={(next) => draft(field, next)}
            />
          ))}
          <div className="dset-foot">
            <p
              role="status"
              className={said?.isBad === true ? 'dset-bad' : 'dset-hint'}
              data-testid={`${id}-said`}
            >
              {said?.text}
            </p>
            <button
              type="button"
              disabled={drafts.size === 0 || isBusy}
              onClick={() => {
                setDrafts(NOTHING)
                setSaid(undefined)
              }}
            >
              {words('discard')}
            </button>
            <button
              type="submit"
              className="dset-strong"
              disabled={drafts.size === 0 || isInvalid || isBusy}
              data-testid={`${id}-save`}
            >
              {words('save')}
            </button>
          </div>
        </form>
      </details>
    </section>
  )
}

interface RowProps {
  readonly field: SettingsField
  readonly draft: Draft | undefined
  readonly problem: string | undefined
  readonly isDisabled: boolean
  readonly testId: string
  readonly words: SettingsWords
  readonly onDraft: (draft: Draft) => void
}

function FieldRow({ draft, field, isDisabled, onDraft, problem, testId, words }: RowProps) {
  const id = useId()
  const { hint, label } = field
  const control = {
    id,
    value: shownText(field, draft),
    disabled: isDisabled,
    'aria-describedby': `${id}-hint`,
    'aria-invalid': problem !== undefined,
    'data-testid': testId,
    onChange: ({ target }: { readonly target: { readonly value: string } }) =>
      onDraft({ text: target.value }),
  }
  return (
    <div className="dset-field">
      <div className="dset-head">
        <label htmlFor={id}>{label}</label>
        {isOwn(field, draft) ? (
          <>
            <span className="dset-badge">{words('own')}</span>
            <button
              type="button"
              className="dset-plain"
              disabled={isDisabled}
              aria-label={words('resetLabel', { field: label })}
              onClick={() => onDraft({ reset: true })}
              data-testid={`${testId}-reset`}
            >
              {words('reset')}
            </button>
          </>
        ) : null}
      </div>
      {controlOf(field, control)}
      <p id={`${id}-hint`} className={problem === undefined ? 'dset-hint' : 'dset-bad'}>
        {problem ?? hint}
      </p>
    </div>
  )
}

function controlOf(field: SettingsField, control: object): ReactNode {
  if (field.kind === 'choice')
    return (
      <select {...control}>
        {field.choices.map(({ label, value }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    )
  return <input {...control} type="text" inputMode={field.kind === 'number' ? 'numeric' : 'text'} />
}

function problemOf(
  field: SettingsField,
  drafts: Drafts,
  fields: readonly SettingsField[],
  words: SettingsWords,
): string | undefined {
  const draft = drafts.get(draftKey(field, fields))
  if (draft === undefined || writeOf(field, draft).kind !== 'invalid') return undefined
  if (field.kind !== 'number') return words('invalid', { rule: '' })
  const { max, min } = field
  const rule = max === undefined ? words('rule.least', { min }) : words('rule.between', { min, max })
  return words('invalid', { rule })
}

/** Draws again when a source says something new. */
function useSources(fields: readonly SettingsField[]): void {
  const [, draw] = useReducer((count: number) => count + 1, 0)
  const sources = [...new Set(fields.map(({ source }) => source))]
  useEffect(() => {
    const undos = sources.map((source) => source.subscribe(draw))
    // What came between the first drawing and this.
    draw()
    return () => {
      for (const undo of undos) undo()
    }
  }, sources)
}
