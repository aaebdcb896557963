export { AskDialog, type AskDialogProps, type Question } from './ask-dialog.tsx'
export { LocaleSource, type PageContext } from './locale-source.ts'
export { addStyle } from './style-tag.ts'
