SELECT e -> 'k' -> 2 ->> 'l', e #> '{k,0}', jsonb_set(e, '{k,1}', '{"z": [[[[]]]]}'), e @> '{"k": [1]}' FROM t;;SELECT jsonb_array_elements('[1,[2,[3]]]'::jsonb)
