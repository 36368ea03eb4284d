import { describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';

/** What summaries begin with. A new verb is added here, once it is clear that none of these says it. */
const VERBS = [
  'Accept',
  'Activate',
  'Add',
  'Answer',
  'Archive',
  'Attach',
  'Begin',
  'Cancel',
  'Change',
  'Check',
  'Clone',
  'Complete',
  'Confirm',
  'Create',
  'Deactivate',
  'Delete',
  'Detach',
  'Disable',
  'Enable',
  'End',
  'Exchange',
  'Execute',
  'Explain',
  'Find',
  'Generate',
  'Get',
  'Invite',
  'Insert',
  'List',
  'Log',
  'Migrate',
  'Move',
  'Open',
  'Provision',
  'Read',
  'Redirect',
  'Refresh',
  'Regenerate',
  'Reject',
  'Remove',
  'Replace',
  'Request',
  'Reset',
  'Restore',
  'Revoke',
  'Rotate',
  'Send',
  'Set',
  'Show',
  'Sign',
  'Simulate',
  'Suggest',
  'Truncate',
  'Update',
  'Upload',
  'Verify',
];

const contracts = SURFACES.flatMap(({ surface, endpoints }) =>
  endpoints.map(({ contract }) => ({ surface, contract })),
);
const named = contracts.filter(({ contract }) => contract.operationId !== undefined);
const routeOf = ({ method, path }: { method: string; path: string }) => `${method.toUpperCase()} ${path}`;

describe('the contract of a route', () => {
  it('has a summary that begins with a verb, and an operationId that begins with the same', () => {
    const problems = named.flatMap(({ contract }) => {
      const [verb = ''] = contract.summary.split(' ');
      if (!VERBS.includes(verb))
        return `${routeOf(contract)}: begin the summary with a verb, such as "Get" or "Replace"`;
      if (contract.summary.endsWith('.')) return `${routeOf(contract)}: end the summary without a full stop`;
      const id = contract.operationId as string;
      return new RegExp(`^${verb.toLowerCase()}[A-Z]\\w*$`).test(id)
        ? []
        : `${routeOf(contract)}: name the operation ${verb.toLowerCase()}…, in camel case, as the summary does`;
    });
    expect(problems).toEqual([]);
  });

  it('has an operationId that no other has', () => {
    const ids = named.map(({ contract }) => contract.operationId as string);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });
});
