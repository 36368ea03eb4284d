/**
 * The functions that user SQL may call: those that depend only on their arguments. Excluded are functions that reach beyond the
 * statement (into sessions, settings, files, locks, large objects, SQL given as text) or reveal what the reader may not see
 * (names of tables, roles, schemas; privileges; other system data). PostgreSQL lets everyone call all of them, and no owner can
 * revoke that.
 */
export const ALLOWED_FUNCTIONS: ReadonlySet<string> = new Set(
  `
  abs acos acosd acosh asin asind asinh atan atan2 atan2d atand atanh cbrt ceil ceiling cos cosd cosh cot cotd degrees
  div erf erfc exp factorial floor gamma gcd lcm lgamma ln log log10 min_scale mod pi pow power radians random
  random_normal round scale setseed sign sin sind sinh sqrt tan tand tanh trim_scale trunc width_bucket

  ascii bit_count bit_length btrim casefold char_length character_length chr concat concat_ws format initcap
  is_normalized left length like lower lpad ltrim md5 normalize notlike octet_length overlay parse_ident position
  quote_ident quote_literal quote_nullable regexp_count regexp_instr regexp_like regexp_match regexp_matches
  regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr repeat replace reverse right rpad rtrim
  split_part starts_with string_to_array string_to_table strpos substr substring to_ascii to_bin to_hex to_oct translate
  unicode_assigned unistr upper
  convert convert_from convert_to crc32 crc32c decode encode get_bit get_byte hashtext hashtextextended set_bit set_byte
  sha224 sha256 sha384 sha512

  age clock_timestamp date_add date_bin date_part date_subtract date_trunc extract isfinite justify_days justify_hours
  justify_interval make_date make_interval make_time make_timestamp make_timestamptz now overlaps statement_timestamp
  timeofday timezone to_char to_date to_number to_timestamp transaction_timestamp
  pg_sleep pg_sleep_for

  bit bool bpchar bytea char date float4 float8 int2 int4 int8 interval money name numeric oid text time timestamp
  timestamptz timetz varbit varchar xml

  any_value array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop covar_samp every max min mode
  percentile_cont percentile_disc range_agg range_intersect_agg regr_avgx regr_avgy regr_count regr_intercept regr_r2
  regr_slope regr_sxx regr_sxy regr_syy stddev stddev_pop stddev_samp string_agg sum var_pop var_samp variance
  cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
  bernoulli system

  array_append array_cat array_dims array_fill array_length array_lower array_ndims array_position array_positions
  array_prepend array_remove array_replace array_reverse array_sample array_shuffle array_sort array_to_json
  array_to_string array_upper cardinality generate_series generate_subscripts num_nonnulls num_nulls trim_array unnest

  json_agg json_agg_strict json_array_elements json_array_elements_text json_array_length json_build_array
  json_build_object json_each json_each_text json_extract_path json_extract_path_text json_object json_object_agg
  json_object_agg_strict json_object_agg_unique json_object_agg_unique_strict json_object_keys json_strip_nulls
  json_to_record json_to_recordset json_typeof row_to_json to_json
  jsonb_agg jsonb_agg_strict jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array
  jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object
  jsonb_object_agg jsonb_object_agg_strict jsonb_object_agg_unique jsonb_object_agg_unique_strict jsonb_object_keys
  jsonb_path_exists jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz jsonb_path_query jsonb_path_query_array
  jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz jsonb_path_query_tz jsonb_pretty jsonb_set
  jsonb_set_lax jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof to_jsonb
  xml_is_well_formed xml_is_well_formed_content xml_is_well_formed_document xmlagg xmlcomment xmlexists xmltext xpath
  xpath_exists

  datemultirange daterange int4multirange int4range int8multirange int8range isempty lower_inc lower_inf multirange
  nummultirange numrange range_merge tsmultirange tsrange tstzmultirange tstzrange upper_inc upper_inf
  gen_random_uuid uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7
  pg_column_size pg_size_bytes pg_size_pretty

  array_to_tsvector json_to_tsvector jsonb_to_tsvector numnode phraseto_tsquery plainto_tsquery querytree setweight strip
  to_tsquery to_tsvector ts_delete ts_filter ts_headline ts_rank ts_rank_cd tsquery_phrase tsvector_to_array
  websearch_to_tsquery

  area box center circle diagonal diameter height isclosed ishorizontal isopen isparallel isperp isvertical line lseg
  npoints path pclose point polygon popen radius slope width
  abbrev broadcast cidr family host hostmask inet_merge inet_same_family macaddr macaddr8 macaddr8_set7bit masklen
  netmask network set_masklen
  `.match(/\w+/g),
);

/**
 * The types that user SQL may name: types of plain values. Excluded are types that look up a number or name where the reader may
 * not look (`regclass`, `aclitem` and the like), and the row types of the system's tables, which contain such types.
 */
export const ALLOWED_TYPES: ReadonlySet<string> = new Set(
  `
  bit bool box bpchar bytea char cid cidr circle cstring date datemultirange daterange float4 float8 gtsvector inet int2
  int2vector int4 int4multirange int4range int8 int8multirange int8range interval json jsonb jsonpath line lseg macaddr
  macaddr8 money name numeric nummultirange numrange oid oidvector path pg_lsn point polygon refcursor text tid time timestamp
  timestamptz timetz tsmultirange tsquery tsrange tstzmultirange tstzrange tsvector txid_snapshot uuid varbit varchar xid
  xid8 xml
  any anyarray anycompatible anycompatiblearray anycompatiblemultirange anycompatiblenonarray anycompatiblerange
  anyelement anyenum anymultirange anynonarray anyrange event_trigger fdw_handler index_am_handler internal
  language_handler record table_am_handler trigger tsm_handler unknown void
  `
    .match(/\w+/g)
    ?.flatMap((name) => [name, `_${name}`]),
);

/** The settings that user SQL may read with `current_setting`. */
export const ALLOWED_SETTINGS: ReadonlySet<string> = new Set([
  'datestyle',
  'intervalstyle',
  'server_version',
  'server_version_num',
  'statement_timeout',
  'timezone',
  'transaction_read_only',
]);
