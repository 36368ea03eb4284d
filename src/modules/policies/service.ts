export { type AccessOf, accessReads, accessSources } from './store.ts';
