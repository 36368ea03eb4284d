export * from './definition.ts';
export { archived } from './failures.ts';
export {
  countResources,
  findResources,
  getResource,
  listResources,
  listVersions,
  livingResources,
  membersAt,
  type Resource,
} from './reading.ts';
export type { VersionRow } from './store.ts';
export {
  type Acceptance,
  archiveResource,
  changeResource,
  createResource,
  insertFirstVersion,
  noteCheck,
  replaceVersion,
} from './writing.ts';
