export { computePauseSeconds, isUnreachable, MAX_TRIES, recordCheck } from './checks.ts';
export * from './definition.ts';
export { archiveResource, changeResource, createResource } from './lifecycle.ts';
export {
  contentAtVersion,
  countResources,
  findResources,
  getResource,
  getVisibleResource,
  listResources,
  listVersions,
  type Resource,
  unarchivedResources,
} from './reading.ts';
export type { ResourceFilter, VersionRow } from './store.ts';
export { type Acceptance, insertFirstVersion, replaceVersion } from './versions.ts';
