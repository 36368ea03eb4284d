import type { PrincipalContext } from '../../../context.ts';
import { exportKnowledge } from './export.ts';
import { buildSemanticModel } from './ossie-export.ts';

/** Exports the active knowledge that the caller may see as an Apache Ossie semantic model, in YAML. @throws exportTooLarge */
export const exportAsOssie = async (ctx: PrincipalContext, maxBytes: number): Promise<string> =>
  buildSemanticModel(ctx, await exportKnowledge(ctx, maxBytes));
