import sys, xml.etree.ElementTree as tree
for f in sys.argv[1:]:
    for e in tree.parse(f).iter():
        for k, v in e.attrib.items(): print(f'{e.get("name") or e.tag}/{k}\t{v}')
    print('--')
