/**
 * Mounting rules shared by every plugin of this bundle. Private: the build compiles it into each
 * package, so no published manifest names it.
 */
export { mountOnce, type Mount } from './mount-once.ts'
export { warnWhenMissing } from './missing-services.ts'
export { personSettings, type PersonSettingsOptions } from './person-settings.ts'
