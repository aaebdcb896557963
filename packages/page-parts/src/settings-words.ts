/** The words that every card of settings has, in English and Chinese. */

const EN = {
  own: 'set by you',
  reset: 'Reset',
  resetLabel: 'Reset “{field}” to what the profile says',
  save: 'Save',
  discard: 'Discard',
  unsaved: 'not saved',
  saved: 'Saved.',
  invalid: 'This cannot be: {rule}',
  'rule.between': 'a number from {min} to {max}.',
  'rule.least': 'a number of at least {min}.',
  refused: 'The host did not take: {fields}. What it has is what was there before.',
  readOnly: 'This can only be changed in a browser on the machine that DSH runs on.',
  loading: 'Reading the settings…',
}

export type SettingsWord = keyof typeof EN

const ZH: Readonly<Record<SettingsWord, string>> = {
  own: '由你设置',
  reset: '恢复',
  resetLabel: '将“{field}”恢复为 profile 中的值',
  save: '保存',
  discard: '放弃',
  unsaved: '未保存',
  saved: '已保存。',
  invalid: '不能是这个值：{rule}',
  'rule.between': '应为 {min} 到 {max} 之间的数。',
  'rule.least': '应为不小于 {min} 的数。',
  refused: '主机没有接受：{fields}。主机上仍是原来的值。',
  readOnly: '只能在运行 DSH 的机器上的浏览器中修改。',
  loading: '正在读取设置…',
}

export type SettingsWords = (word: SettingsWord, values?: Readonly<Record<string, string | number>>) => string

/** @param locale as DSH names it; every language but Chinese reads English. */
export function settingsWords(locale: string): SettingsWords {
  const dictionary = /^zh\b/iu.test(locale) ? ZH : EN
  return (word, values = {}) =>
    dictionary[word].replaceAll(/\{(\w+)\}/gu, (place, name: string) => String(values[name] ?? place))
}
