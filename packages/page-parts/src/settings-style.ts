/** The style of a card of settings: it stands in DSH's own settings, beside cards of DSH. */
export const SETTINGS_STYLE = `
.dset {
  border: 1px solid var(--dsw-alias-border-l2, #0000001f);
  border-radius: 12px;
  background: var(--dsw-alias-bg-layer-3, #fff);
  color: var(--dsw-alias-label-primary, #16181d);
  font-size: 13px;
  line-height: 1.5;
}
.dset * { box-sizing: border-box; }
.dset p { margin: 0; }
.dset summary { display: flex; flex-wrap: wrap; gap: 4px 8px; padding: 14px 16px; border-radius: 12px; cursor: pointer; }
.dset-name { flex: 1; font-size: 15px; font-weight: 600; }
.dset summary::after { content: '▾' / ''; }
.dset details[open] summary::after { transform: rotate(180deg); }
.dset summary .dset-hint { flex-basis: 100%; order: 1; }
.dset form { display: flex; flex-direction: column; margin: 0 16px; padding-bottom: 8px; border-top: 1px solid var(--dsw-alias-border-l2, #0000001f); }
.dset-field { display: flex; flex-direction: column; gap: 6px; padding: 12px 0; }
.dset-field + .dset-field { border-top: 1px solid var(--dsw-alias-border-l2, #0000001f); }
.dset-head { display: flex; align-items: center; gap: 8px; }
.dset-head label { flex: 1; font-weight: 500; }
.dset-badge { padding: 1px 8px; border-radius: 999px; background: var(--dsw-alias-bg-module-platform, #f3f4f6); color: var(--dsw-alias-label-secondary, #4b5260); font-size: 11px; }
.dset-hint { color: var(--dsw-alias-label-secondary, #4b5260); font-size: 12px; }
.dset-bad { color: var(--dsw-alias-state-error-primary, #b42318); font-size: 12px; }
.dset :is(input, select) { height: 34px; padding: 0 12px; border: 1px solid var(--dsw-alias-border-l2, #0000001f); border-radius: 8px; background: var(--dsw-alias-bg-base, #fff); color: inherit; font: inherit; }
.dset [aria-invalid='true'] { border-color: var(--dsw-alias-state-error-primary, #b42318); }
.dset button { padding: 5px 14px; border: 1px solid var(--dsw-alias-border-l2, #0000001f); border-radius: 8px; background: transparent; color: inherit; font: inherit; cursor: pointer; }
.dset button.dset-plain { padding: 0 4px; border-color: transparent; font-size: 12px; text-decoration: underline; }
.dset button.dset-strong { background: var(--dsw-alias-label-primary, #16181d); color: var(--dsw-alias-bg-layer-3, #fff); }
.dset button:disabled { opacity: 0.45; cursor: default; }
.dset :is(summary, button, input, select):focus-visible { outline: 2px solid var(--dsw-alias-state-business-primary, #4d6bfe); outline-offset: 1px; }
.dset-foot { display: flex; align-items: center; gap: 8px; padding: 12px 0 4px; border-top: 1px solid var(--dsw-alias-border-l2, #0000001f); }
.dset-foot p { flex: 1; }
`
