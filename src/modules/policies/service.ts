export { selectAdministrators } from './administrator-store.ts';
export { gainOfLifting, requireWithinReach } from './ceiling.ts';
export { policyNotFound } from './failures.ts';
export { type AccessOf, accessReads, accessSources, grantReads, selectPolicy } from './store.ts';
