/** Puts the style sheet into the page. */
import css from './style.css'

const ID = 'dsh-agent-loop-host'

/** @returns the undo. */
export function addStyle(): () => void {
  const tag = document.createElement('style')
  // DSH looks for these when it loads the half anew.
  tag.dataset['plugin'] = ID
  tag.dataset['pluginCss'] = `${ID}/style.css`
  tag.textContent = css
  document.head.append(tag)
  return () => tag.remove()
}
