import { Failure } from '../../../kernel/failure.ts';
import type { Definition } from './definition.ts';

type Named = Pick<Definition, 'noun'>;

const called = ({ noun }: Named): string => noun.replaceAll('_', ' ');

/** The company has none of this type under the id. */
export const resourceNotFound = (definition: Named) =>
  new Failure('missing', `${definition.noun}.not_found`, { message: `There is no such ${called(definition)}.` });

/** A living one has the same name (and kind); `name` is what it is called. */
export const duplicate = (definition: Named, name: string) =>
  new Failure('conflict', `${definition.noun}.duplicate`, {
    message: `There is a ${called(definition)} like this already.`,
    name,
  });

/** It takes no changes before it is brought back. */
export const archived = (definition: Named) =>
  new Failure('conflict', `${definition.noun}.archived`, {
    message: `The ${called(definition)} is archived: send the status draft or active with the change to bring it back.`,
  });

/** Others keep changing it at the same time. */
export const overtaken = (definition: Named) =>
  new Failure('conflict', 'knowledge.overtaken', {
    message: `The ${called(definition)} was changed by somebody else at the same time. Try again.`,
  });
