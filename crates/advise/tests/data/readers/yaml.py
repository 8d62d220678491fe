import sys, json, yaml
for f in sys.argv[1:]:
    with open(f, encoding='utf-8', newline='') as it: print(json.dumps(list(yaml.safe_load_all(it.read()))))
