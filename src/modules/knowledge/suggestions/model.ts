import type { CompanyContext } from '../../../context.ts';
import type { AiSettings } from '../../../platform/ai.ts';
import { aiNotConfigured } from './failures.ts';

/** Whether suggestions can be asked for at all. */
export const isAiConfigured = ({ config }: CompanyContext): boolean => config.AI_API_KEY !== undefined;

/** How to reach the model. @throws Failure `ai.not_configured` */
export function requireAi({ config }: CompanyContext): AiSettings {
  if (config.AI_API_KEY === undefined) throw aiNotConfigured();
  return {
    apiKey: config.AI_API_KEY,
    baseUrl: config.AI_BASE_URL,
    model: config.AI_MODEL,
    timeoutMs: config.AI_TIMEOUT_MS,
    backoffMs: config.AI_BACKOFF_MS,
  };
}
