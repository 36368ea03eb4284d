import { describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import { describeVersions } from './describe-versions.ts';
import { IDENTITY_KINDS, KNOWLEDGE_KINDS, SHARING_KINDS } from './kinds.ts';

describeVersions(KNOWLEDGE_KINDS);

describe('the list of records whose versions are tested', () => {
  it('has every record with a version that the control database compares in a write', () => {
    const contracts = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract));
    const isChanged = (path: string) =>
      contracts.some(
        (listedContract) => listedContract.path === path && ['put', 'patch'].includes(listedContract.method),
      );
    const routes = contracts.flatMap(({ path, versionDeclaration: versioned }) =>
      versioned?.checkedBy === 'database' && isChanged(path) ? path : [],
    );
    const missingRoutes = routes.filter(
      (path) => ![...IDENTITY_KINDS, ...SHARING_KINDS, ...KNOWLEDGE_KINDS].some(({ route }) => route === path),
    );
    expect(missingRoutes.map((path) => `${path}: add its record to test/versions/kinds.ts`)).toEqual([]);
  });

  it('misses no route that reads a single record which can be changed or deleted', () => {
    const contracts = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract));
    const isWritten = (path: string) =>
      contracts.some(
        (listedContract) => listedContract.path === path && ['put', 'patch', 'delete'].includes(listedContract.method),
      );
    // Where a protocol of others is spoken, that says what a write is made for.
    const unversionedRoutes = contracts.flatMap(({ method, path, versionDeclaration: versioned, protocol }) =>
      method === 'get' && !versioned && !protocol && path.endsWith('}') && isWritten(path) ? path : [],
    );
    expect(unversionedRoutes.map((path) => `${path}: say in its contract that it is versioned`)).toEqual([]);
  });
});
