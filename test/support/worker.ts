/** Both Workers as one, which the tests of this project run in; those of processes run the two, as they are deployed. */
export * from '../../src/index.ts';
export { default } from '../../src/index.ts';
