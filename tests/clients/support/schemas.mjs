// JSON Schema 2020-12, with everything that is unknown or ambiguous in a schema an error.

import assert from 'node:assert/strict';

import { Ajv2020 } from 'ajv/dist/2020.js';

export function assertSchemaIsValid(schema) {
  new Ajv2020({ strict: true, allowUnionTypes: true }).compile(schema);
}

export function assertMatches(schema, value) {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
  const validate = ajv.compile(schema);
  assert.ok(validate(value), ajv.errorsText(validate.errors));
}
