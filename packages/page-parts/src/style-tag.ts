/**
 * Puts a style sheet into the page.
 *
 * @param id name of the package.
 * @returns the undo.
 */
export function addStyle(id: string, css: string): () => void {
  const tag = document.createElement('style')
  // DSH looks for these when it loads a browser half anew.
  tag.dataset['plugin'] = id
  tag.dataset['pluginCss'] = `${id}/style.css`
  tag.textContent = css
  document.head.append(tag)
  return () => tag.remove()
}
