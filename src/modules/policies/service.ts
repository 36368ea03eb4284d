export { policyNotFound } from './failures.ts';
export { selectPolicy } from './policy-store.ts';
